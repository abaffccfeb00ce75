// Effects of events, drawn over (or under) heroes and mines for a short time. An effect is { kind, x, y, hero, t, ... }
// with t from 0 to 1; lengths are in device pixels.

import { FONT, HEROES, TAU } from './sprites.js';

const UNDER = new Set(['respawn', 'mine']);

function floating(c, s, effect, text, colour) {
  c.globalAlpha = Math.min(1, 2.2 * (1 - effect.t));
  c.font = `800 ${Math.round(Math.max(s * 0.42, 10))}px ${FONT}`;
  c.textAlign = 'center';
  c.textBaseline = 'middle';
  c.lineWidth = Math.max(2, s * 0.1);
  c.lineJoin = 'round';
  c.strokeStyle = 'rgba(0,0,0,.85)';
  const x = (effect.x + 0.5) * s,
    y = (effect.y + 0.25 - 0.55 * effect.t) * s;
  c.strokeText(text, x, y);
  c.fillStyle = colour;
  c.fillText(text, x, y);
  c.globalAlpha = 1;
}

const EFFECTS = {
  /** A blow: a slash across the struck hero, from the side of the attacker. */
  blow(c, s, effect) {
    const reach = Math.min(1, effect.t * 2.5),
      angle = Math.atan2(effect.y - effect.fromY, effect.x - effect.fromX);
    c.save();
    c.translate((effect.x + 0.5) * s, (effect.y + 0.5) * s);
    c.rotate(angle);
    c.globalAlpha = Math.max(0, 1 - effect.t);
    for (const { style, width } of [
      { style: HEROES[effect.hero].deep, width: 0.26 },
      { style: '#fff', width: 0.13 },
    ]) {
      c.strokeStyle = style;
      c.lineWidth = s * width;
      c.lineCap = 'round';
      c.beginPath();
      c.arc(-s * 0.35, 0, s * 0.55, -0.85, -0.85 + 1.7 * reach);
      c.stroke();
    }
    c.restore();
  },

  /** A death: a ring that opens, and a cross. */
  death(c, s, effect) {
    const x = (effect.x + 0.5) * s,
      y = (effect.y + 0.5) * s,
      r = s * (0.3 + 0.75 * effect.t),
      k = s * 0.26;
    c.globalAlpha = Math.min(1, 1.6 * (1 - effect.t));
    c.strokeStyle = HEROES[effect.hero].main;
    c.lineWidth = s * 0.14 * (1 - 0.6 * effect.t);
    c.beginPath();
    c.arc(x, y, r, 0, TAU);
    c.stroke();
    c.lineCap = 'round';
    for (const { style, width } of [
      { style: 'rgba(0,0,0,.85)', width: 0.24 },
      { style: '#fff', width: 0.12 },
    ]) {
      c.strokeStyle = style;
      c.lineWidth = s * width;
      c.beginPath();
      c.moveTo(x - k, y - k);
      c.lineTo(x + k, y + k);
      c.moveTo(x + k, y - k);
      c.lineTo(x - k, y + k);
      c.stroke();
    }
    c.globalAlpha = 1;
  },

  /** A respawn: a column of light. */
  respawn(c, s, effect) {
    const x = effect.x * s,
      light = c.createLinearGradient(0, (effect.y - 1) * s, 0, (effect.y + 1) * s);
    light.addColorStop(0, 'rgba(255,255,255,0)');
    light.addColorStop(1, HEROES[effect.hero].main);
    c.globalAlpha = 0.85 * (1 - effect.t);
    c.fillStyle = light;
    c.fillRect(x + s * 0.08, (effect.y - 1) * s, s * 0.84, s * 2);
    c.globalAlpha = 1;
  },

  /** A mine that changes its owner: a frame in the new owner's colour that widens. */
  mine(c, s, effect) {
    const grown = s * 0.35 * effect.t;
    c.globalAlpha = 1 - effect.t;
    c.strokeStyle = effect.hero < 0 ? '#ddd' : HEROES[effect.hero].main;
    c.lineWidth = s * 0.13;
    c.beginPath();
    c.roundRect(effect.x * s - grown, effect.y * s - grown, s + 2 * grown, s + 2 * grown, s * 0.2);
    c.stroke();
    c.globalAlpha = 1;
  },
};

/** Draw the effects under the heroes if `under` is true, else the effects over the heroes. */
export function drawEffects(c, s, effects, under) {
  for (const effect of effects) if (UNDER.has(effect.kind) === under) EFFECTS[effect.kind]?.(c, s, effect);
}

/** Draw the changes of life, as numbers that move upwards. */
export function drawNumbers(c, s, effects) {
  for (const effect of effects) {
    if (effect.kind === 'blow') floating(c, s, effect, '−20', '#ff8a80');
    else if (effect.kind === 'beer') floating(c, s, effect, `+${effect.amount}`, '#8df59a');
  }
}
