"""Tools for people who write traits: conformance, explanations, timings, search trees, the doctor, new projects."""
