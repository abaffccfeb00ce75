// Marks on the squares of a board, which explain a state, and marks of bad moves.

import { svg } from '../core/dom.js';
import { BAD } from '../game/names.js';
import { FONT, TAU } from './sprites.js';

/** Return a diamond, the mark of a bad move on a slider or a curve. `r` is the distance of its corners from its
 *  middle. */
export function diamond(x, y, r) {
  return svg('path', { d: `M${x} ${y - r}l${r} ${r}l${-r} ${r}l${-r} ${-r}z`, fill: BAD, stroke: '#000b' });
}

/** Draws marks on `context` for a board. The board has a `size`, a `theme`, the `side` of a square, and the `ratio`
 *  of device pixels to CSS pixels. */
export class Marker {
  constructor(context, { size, side, ratio, theme }) {
    this.over = context;
    this.size = size;
    this.side = side;
    this.ratio = ratio;
    this.theme = theme;
  }

  /** Draw the marks under the heroes: `fills` [square, colour], `texts` [square, text] (\n begins a line), `paths` {
   *  squares, colour, shift } (`shift` is a fraction of a square), and the frames of `goals` { square, colour, text
   *  }. Each kind of mark may be missing. */
  draw(marks) {
    const c = this.over,
      s = this.side;
    const place = (square) => [(square % this.size) * s, Math.floor(square / this.size) * s];
    for (const [square, colour] of marks.fills ?? []) {
      c.fillStyle = colour;
      c.fillRect(...place(square), s, s);
    }
    this._texts(marks.texts ?? [], place);
    for (const path of marks.paths ?? []) this._path(path, place);
    for (const goal of marks.goals ?? []) this._goal(goal, place);
  }

  /** Draw the marks over the heroes and their names: `arrows` { square, direction, colour, size } and the texts of
   *  `goals`. */
  drawOver(marks) {
    const s = this.side,
      place = (square) => [(square % this.size) * s, Math.floor(square / this.size) * s];
    for (const goal of marks.goals ?? []) this._goalText(goal, place);
    for (const arrow of marks.arrows ?? []) this._arrow(arrow, place);
  }

  _texts(texts, place) {
    const c = this.over,
      s = this.side;
    if (s / this.ratio < 14) return;
    c.font = `600 ${Math.round(s * 0.36)}px ${FONT}`;
    c.textAlign = 'center';
    c.textBaseline = 'middle';
    c.lineWidth = s * 0.09;
    c.lineJoin = 'round';
    c.strokeStyle = this.theme === 'dark' ? 'rgba(0,0,0,.75)' : 'rgba(255,255,255,.85)';
    c.fillStyle = this.theme === 'dark' ? '#fff' : '#1a1a1a';
    for (const [square, text] of texts) {
      const [x, y] = place(square),
        lines = text.split('\n');
      lines.forEach((line, i) => {
        const middle = y + s / 2 + (i - (lines.length - 1) / 2) * s * 0.42;
        c.strokeText(line, x + s / 2, middle);
        c.fillText(line, x + s / 2, middle);
      });
    }
  }

  _path({ squares, colour, shift = 0 }, place) {
    const c = this.over,
      s = this.side,
      off = s / 2 + shift * s;
    const points = squares.map((square) => place(square).map((edge) => edge + off));
    for (const { style, width } of [
      { style: 'rgba(0,0,0,.55)', width: 0.2 },
      { style: colour, width: 0.12 },
    ]) {
      c.strokeStyle = style;
      c.lineWidth = s * width;
      c.lineCap = c.lineJoin = 'round';
      c.beginPath();
      points.forEach(([x, y], i) => {
        const [beforeX, beforeY] = points[i - 1] ?? [NaN, NaN];
        if (Math.abs(x - beforeX) + Math.abs(y - beforeY) < 1.5 * s) c.lineTo(x, y);
        else c.moveTo(x, y); // the start, or a respawn
      });
      c.stroke();
    }
    const [x, y] = points[points.length - 1];
    c.fillStyle = colour;
    c.strokeStyle = 'rgba(0,0,0,.65)';
    c.lineWidth = s * 0.05;
    c.beginPath();
    c.arc(x, y, s * 0.16, 0, TAU);
    c.fill();
    c.stroke();
  }

  _goal({ square, colour }, place) {
    const c = this.over,
      s = this.side,
      [x, y] = place(square);
    c.strokeStyle = 'rgba(0,0,0,.6)';
    c.lineWidth = s * 0.17;
    const corners = () => {
      const a = s * 0.06,
        b = s * 0.94,
        l = s * 0.26;
      c.beginPath();
      for (const [px, py, dx, dy] of [
        [a, a, 1, 1],
        [b, a, -1, 1],
        [b, b, -1, -1],
        [a, b, 1, -1],
      ]) {
        c.moveTo(x + px + dx * l, y + py);
        c.lineTo(x + px, y + py);
        c.lineTo(x + px, y + py + dy * l);
      }
      c.stroke();
    };
    corners();
    c.strokeStyle = colour;
    c.lineWidth = s * 0.09;
    corners();
  }

  _goalText({ square, text }, place) {
    const c = this.over,
      s = this.side,
      [x, y] = place(square);
    if (text && s / this.ratio >= 14) {
      c.font = `600 ${Math.max(9 * this.ratio, Math.round(s * 0.3))}px ${FONT}`;
      c.textBaseline = 'bottom';
      const wide = c.measureText(text).width;
      const left = Math.min(Math.max(x + s / 2 - wide / 2, 3), s * this.size - wide - 3),
        base = y < s ? y + s * 1.4 : y - 1;
      c.textAlign = 'left';
      c.lineWidth = s * 0.1;
      c.lineJoin = 'round';
      c.strokeStyle = 'rgba(0,0,0,.8)';
      c.strokeText(text, left, base);
      c.fillStyle = '#fff';
      c.fillText(text, left, base);
    }
  }

  /** Draw an arrow from the middle of a square. `size` 0..1 sets the length and the thickness of the arrow. Stay (0)
   *  is drawn as a ring. */
  _arrow({ square, direction, colour, size }, place) {
    const c = this.over,
      s = this.side,
      [x, y] = place(square);
    c.save();
    c.translate(x + s / 2, y + s / 2);
    c.strokeStyle = 'rgba(0,0,0,.6)';
    c.fillStyle = colour;
    c.lineWidth = s * 0.05;
    if (direction === 0) {
      c.beginPath();
      c.arc(0, 0, s * 0.5, 0, TAU);
      c.lineWidth = s * 0.1;
      c.stroke();
      c.strokeStyle = colour;
      c.lineWidth = s * 0.055;
      c.stroke();
    } else {
      c.rotate([0, -Math.PI / 2, Math.PI / 2, 0, Math.PI][direction]);
      const long = s * (0.75 + 0.5 * size),
        wide = s * 0.1,
        head = s * 0.24;
      c.beginPath();
      c.moveTo(s * 0.5, -wide);
      c.lineTo(long, -wide);
      c.lineTo(long, -head);
      c.lineTo(long + head * 1.2, 0);
      c.lineTo(long, head);
      c.lineTo(long, wide);
      c.lineTo(s * 0.5, wide);
      c.closePath();
      c.fill();
      c.stroke();
    }
    c.restore();
  }
}
