// Drawings of the things on a board. Each function paints one square of side `s` (device pixels). The top left corner
// of the square is the origin of the context. `sheet` paints all drawings once for a size, so that frames only copy
// them. The shapes and the colours are data of `sim/sprites.py`, which all pictures of boards use.

import { CRASHED, HERO_COLOURS as HEROES, LANDS, SPRITES } from './shapes.js';

export { HEROES, LANDS };
export const FONT = 'system-ui, sans-serif';
export const TAU = 2 * Math.PI;

/** Return a pseudo-random number 0..1, which is always the same for the same square. */
function noise(x, y, salt = 0) {
  let h = (x * 374761393 + y * 668265263 + salt * 1442695041) | 0;
  h = Math.imul(h ^ (h >>> 13), 1274126177);
  return ((h ^ (h >>> 16)) >>> 0) / 4294967296;
}

/** Draw a sprite. `colours` has the values of the colours' names. */
function draw(c, s, name, colours) {
  c.save();
  c.scale(s / 100, s / 100);
  c.lineJoin = 'round';
  for (const shape of SPRITES[name]) {
    const path = outline(shape);
    c.globalAlpha = shape.alpha ?? 1;
    if (shape.fill) {
      c.fillStyle = colours[shape.fill] ?? shape.fill;
      c.fill(path);
    }
    if (shape.line) {
      c.strokeStyle = colours[shape.line] ?? shape.line;
      c.lineWidth = Math.max(shape.width, ((shape.least ?? 0) * 100) / s);
      c.stroke(path);
    }
  }
  c.restore();
}

function outline({ path, ellipse, rect }) {
  const made = new Path2D(path);
  if (ellipse) {
    const [x, y, rx, ry, degrees] = ellipse;
    made.ellipse(x, y, rx, ry, (degrees * Math.PI) / 180, 0, TAU);
  } else if (rect) {
    const [x, y, width, height, radius] = rect;
    made.roundRect(x, y, width, height, radius);
  }
  return made;
}

export function drawGround(c, s, land, x, y) {
  c.fillStyle = land.ground[Math.floor(noise(x, y) * land.ground.length)];
  c.fillRect(0, 0, s, s);
  draw(c, s, 'grid', land);
  if (s < 14) return;
  for (let i = 0; i < 2; i++) {
    if (noise(x, y, 3 + i) < 0.55) continue;
    c.save();
    c.translate((0.15 + 0.7 * noise(x, y, 5 + i)) * s, (0.25 + 0.65 * noise(x, y, 7 + i)) * s);
    draw(c, s, 'tuft', land);
    c.restore();
  }
}

export function drawForestFloor(c, s, land) {
  c.fillStyle = land.floor;
  c.fillRect(-1, -1, s + 2, s + 2);
}

export function drawTree(c, s, land, x, y) {
  const dx = (noise(x, y, 11) - 0.5) * 0.12,
    dy = (noise(x, y, 12) - 0.5) * 0.08,
    k = 0.92 + noise(x, y, 13) * 0.2;
  const crown = land.crown[Math.floor(noise(x, y, 14) * land.crown.length)];
  c.save();
  c.translate((0.5 + dx - 0.5 * k) * s, (0.5 + dy - 0.5 * k) * s);
  draw(c, s * k, noise(x, y, 15) < 0.45 ? 'fir' : 'leafy', { ...land, crown });
  c.restore();
}

export function drawTavern(c, s, land) {
  draw(c, s, 'tavern', land);
}

/** Paint a mine of hero `owner` (0..3; -1: no owner). */
function drawMine(c, s, land, owner) {
  const colours = { ...land, ...HEROES[owner] };
  for (const name of HEROES[owner] ? ['banner', 'owned', 'flag'] : ['mine']) draw(c, s, name, colours);
}

/** Paint the spawn square of hero 0..3. */
export function drawSpawn(c, s, hero) {
  draw(c, s, 'spawn', HEROES[hero]);
}

/** Paint the ring under our hero. */
export function drawOurs(c, s) {
  draw(c, s, 'ours', {});
}

/** Paint hero 0..3. */
function drawHero(c, s, hero, { crashed = false } = {}) {
  for (const name of ['hero', String(hero + 1)]) draw(c, s, name, crashed ? CRASHED : HEROES[hero]);
}

/** Return a canvas of `width` x `height` device pixels that is not part of the page. */
export function canvas(width, height) {
  const made = document.createElement('canvas');
  made.width = Math.max(1, Math.round(width));
  made.height = Math.max(1, Math.round(height));
  return made;
}

/** Return the drawings of all things that move or change, for squares of `s` device pixels. Frames copy these
 *  drawings. Heroes are larger than a square by the factor `grown`: `heroes[i]` has the side `hero`, and the feet of
 *  the hero are in the middle of the square. */
export function sheet(s, land, grown) {
  const paint = (side, fill) => {
    const made = canvas(side, side);
    fill(made.getContext('2d'));
    return made;
  };
  const hero = Math.round(s * grown),
    margin = Math.ceil(hero * 0.07);
  const heroes = [0, 1, 2, 3].map((i) =>
    [false, true].map((crashed) =>
      paint(hero + 2 * margin, (c) => {
        c.translate(margin, margin);
        drawHero(c, hero, i, { crashed });
      }),
    ),
  );
  const mines = [-1, 0, 1, 2, 3].map((owner) => paint(s, (c) => drawMine(c, s, land, owner)));
  return { hero: hero + 2 * margin, heroes, mines };
}
