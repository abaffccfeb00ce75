"""Traits that each handle one situation: hunter, leader, stalemate and others."""
