// A board that draws itself at any size: land and mines on one canvas, which is repainted only where a mine changes its owner;
// what explains a turn (overlays) on a second; heroes, blows and deaths on a third, which is all that a frame repaints.
//
//   const board = new Board(element, { size, tiles, names, me, spawns });
//   board.frame({ owners, heroes, effects });   // see scene.js, which makes such scenes from states
//   board.mark(marks);                          // fills, texts, arrows, paths on the squares; null for none
//
// `tiles` has a number for each square, row after row: 0 air, 1 wood, 2 tavern, 3 mine. Squares are numbered the same way.

import { HEROES, LANDS, canvas, drawForestFloor, drawGround, drawTavern, drawTree, sheet } from 'viewer/sprites.js';

export const AIR = 0, WOOD = 1, TAVERN = 2, MINE = 3;
const FONT = 'system-ui, sans-serif';
const TAU = 2 * Math.PI;
/** Squares need this many CSS pixels for names and numbers to be readable. */
const ROOM_FOR_NAMES = 17;
const NAME_LENGTH = 14;

/** The first letters of a name, as many as a tag has room for. */
export function shortName(name, length = NAME_LENGTH) {
  const letters = Array.from(name);
  return letters.length > length ? `${letters.slice(0, length - 1).join('')}…` : name;
}

export class Board {
  /** A board inside `host`, an empty element whose width decides the size. `me` is our hero 0..3, or -1. */
  constructor(host, { size, tiles, names = ['', '', '', ''], me = -1, spawns = [], label = 'The board' }) {
    this.host = host;
    this.size = size;
    this.tiles = tiles;
    this.names = names;
    this.me = me;
    this.spawns = spawns;
    this.showNames = true;
    this.theme = 'dark';
    this.marks = null;
    this.scene = null;
    this.onSquare = null; // called with the number of a square that was clicked
    host.classList.add('board');
    this.layers = ['land', 'marks', 'actors'].map((name) => {
      const layer = document.createElement('canvas');
      layer.className = `layer layer-${name}`;
      layer.setAttribute('aria-hidden', 'true');
      host.append(layer);
      return layer;
    });
    [this.land, this.over, this.actors] = this.layers.map((layer) => layer.getContext('2d'));
    host.setAttribute('role', 'img');
    host.setAttribute('aria-label', label);
    host.addEventListener('click', (event) => {
      const square = this.squareAt(event.clientX, event.clientY);
      if (square !== null && this.onSquare) this.onSquare(square);
    });
    this.resizes = new ResizeObserver(() => this.resize());
    this.resizes.observe(host);
    this.resize();
  }

  /** What the board shows, in words: for those who do not see it. */
  describe(text) {
    this.host.setAttribute('aria-label', text);
  }

  setTheme(theme) {
    if (theme === this.theme) return;
    this.theme = theme;
    this._prepare();
  }

  setNames(shown) {
    this.showNames = shown;
    this.repaint();
  }

  /** The square under a point of the window, or null. */
  squareAt(clientX, clientY) {
    const box = this.layers[0].getBoundingClientRect();
    const column = Math.floor(((clientX - box.left) / box.width) * this.size);
    const row = Math.floor(((clientY - box.top) / box.height) * this.size);
    return row >= 0 && column >= 0 && row < this.size && column < this.size ? row * this.size + column : null;
  }

  resize() {
    const width = this.host.clientWidth;
    const ratio = Math.min(window.devicePixelRatio || 1, 2.5);
    const side = Math.max(4, Math.floor((width * ratio) / this.size));
    if (!width || (side === this.side && ratio === this.ratio)) return;
    this.side = side;
    this.ratio = ratio;
    for (const layer of this.layers) {
      layer.width = layer.height = side * this.size;
      layer.style.width = layer.style.height = `${(side * this.size) / ratio}px`;
    }
    this._prepare();
  }

  _prepare() {
    if (!this.side) return;
    // On a small board heroes are drawn larger than on a large one, or they would be lost among the mines.
    const pixels = this.side / this.ratio, grown = Math.max(1.12, Math.min(1.5, 1.12 + (32 - pixels) * 0.025));
    this.sheet = sheet(this.side, LANDS[this.theme], grown);
    this.grown = grown;
    this.tags = null;
    this._paintLand();
    this.mark(this.marks);
    this.repaint();
  }

  /** Show the last scene again. */
  repaint() {
    if (this.scene) this.frame(this.scene);
  }

  // ---- Land ----

  _paintLand() {
    const { size, side, tiles } = this, land = LANDS[this.theme];
    const still = canvas(side * size, side * size), c = still.getContext('2d');
    const each = (draw) => {
      for (let i = 0; i < tiles.length; i++) {
        c.save();
        c.translate((i % size) * side, Math.floor(i / size) * side);
        draw(tiles[i], i % size, Math.floor(i / size), i);
        c.restore();
      }
    };
    each((tile, x, y) => drawGround(c, side, land, x, y));
    each((tile) => tile === WOOD && drawForestFloor(c, side, land));
    each((tile, x, y, i) => {
      const hero = this.spawns.indexOf(i);
      if (hero >= 0) this._paintSpawn(c, hero);
    });
    each((tile, x, y) => {
      if (tile === WOOD) drawTree(c, side, land, x, y);
      else if (tile === TAVERN) drawTavern(c, side, land);
    });
    this.still = still;
    this.land.drawImage(still, 0, 0);
    this.painted = new Int8Array(tiles.length).fill(-2);
  }

  _paintSpawn(c, hero) {
    const s = this.side;
    c.strokeStyle = HEROES[hero].main;
    c.globalAlpha = 0.5;
    c.lineWidth = Math.max(1, s * 0.06);
    c.setLineDash([s * 0.16, s * 0.1]);
    c.beginPath();
    c.arc(s / 2, s / 2, s * 0.38, 0, TAU);
    c.stroke();
  }

  _paintMines(owners) {
    const { size, side } = this;
    for (let i = 0; i < owners.length; i++) {
      if (this.tiles[i] !== MINE || this.painted[i] === owners[i]) continue;
      const x = (i % size) * side, y = Math.floor(i / size) * side;
      this.painted[i] = owners[i];
      this.land.drawImage(this.still, x, y, side, side, x, y, side, side);
      this.land.drawImage(this.sheet.mines[owners[i] < 5 ? owners[i] : 0], x, y);
    }
  }

  // ---- Heroes and what happens to them ----

  /** Show a scene: `owners` (0 nobody, 1..4 heroes, for each square), four `heroes` { x, y, life, crashed, alpha }, `effects`
   *  { kind, x, y, hero, t } with t from 0 to 1. Positions are columns and rows, fractions between two squares. */
  frame(scene) {
    this.scene = scene;
    if (!this.side) return;
    const c = this.actors, s = this.side;
    this._paintMines(scene.owners);
    c.clearRect(0, 0, s * this.size, s * this.size);
    for (const effect of scene.effects) if (UNDER.has(effect.kind)) EFFECTS[effect.kind](c, s, effect);
    const order = [...scene.heroes.keys()].sort((a, b) => scene.heroes[a].y - scene.heroes[b].y);
    for (const i of order) this._hero(c, scene.heroes[i], i);
    for (const i of order) this._tag(c, scene.heroes[i], i);
    for (const effect of scene.effects) if (!UNDER.has(effect.kind)) EFFECTS[effect.kind](c, s, effect);
  }

  _hero(c, hero, index) {
    const s = this.side, side = this.sheet.hero;
    c.globalAlpha = hero.alpha ?? 1;
    if (index === this.me) {
      c.strokeStyle = '#ffd23e';
      c.lineWidth = Math.max(2, s * 0.08);
      c.beginPath();
      c.ellipse((hero.x + 0.5) * s, (hero.y + 0.9) * s, s * 0.48, s * 0.17, 0, 0, TAU);
      c.stroke();
    }
    const image = this.sheet.heroes[index][hero.crashed ? 1 : 0];
    c.drawImage(image, Math.round((hero.x + 0.5) * s - side / 2), Math.round((hero.y + 1.02) * s - side));
    c.globalAlpha = 1;
  }

  /** Name and life over a hero; under his feet in the topmost row. */
  _tag(c, hero, index) {
    const s = this.side, pixel = this.ratio;
    c.globalAlpha = hero.alpha ?? 1;
    const wide = Math.round(Math.max(s * 0.94, 12 * pixel)), high = Math.max(Math.round(s * 0.13), Math.round(3 * pixel));
    const named = this.showNames && s / pixel >= ROOM_FOR_NAMES;
    const tag = named ? this._names()[index] : null;
    const above = (hero.y + 1.02 - 1.06 * this.grown) * s - high, below = above - (tag?.height ?? 0) - 3 * pixel < 0;
    const x = Math.round(Math.min(Math.max((hero.x + 0.5) * s, wide / 2), s * this.size - wide / 2));
    const y = Math.round(below ? (hero.y + 1.04) * s : above);
    const full = Math.max(0, Math.min(1, hero.life / 100));
    c.fillStyle = 'rgba(10,12,14,.82)';
    c.fillRect(x - wide / 2 - pixel, y - pixel, wide + 2 * pixel, high + 2 * pixel);
    c.fillStyle = full > 0.5 ? '#4bd864' : full > 0.2 ? '#ffc93c' : '#ff5a4f';
    c.fillRect(x - wide / 2, y, Math.ceil(wide * full), high);
    if (tag) {
      const left = Math.min(Math.max(x - tag.width / 2, 0), s * this.size - tag.width);
      c.drawImage(tag, Math.round(left), below ? y + high + 2 * pixel : y - tag.height - 2 * pixel);
    }
    c.globalAlpha = 1;
  }

  _names() {
    this.tags ??= this.names.map((name, index) => {
      const text = shortName(name), pixel = this.ratio, size = Math.round(Math.min(13, Math.max(9.5, (this.side / pixel) * 0.34)) * pixel);
      const ruler = canvas(1, 1).getContext('2d'), font = `600 ${size}px ${FONT}`;
      ruler.font = font;
      const tag = canvas(Math.ceil(ruler.measureText(text).width) + 8 * pixel, size + 5 * pixel), c = tag.getContext('2d');
      c.fillStyle = 'rgba(14,16,20,.78)';
      c.beginPath(); c.roundRect(0, 0, tag.width, tag.height, 4 * pixel); c.fill();
      c.font = font;
      c.fillStyle = index === this.me ? '#ffe08a' : HEROES[index].soft;
      c.textBaseline = 'middle';
      c.fillText(text, 4 * pixel, tag.height / 2 + 0.5 * pixel);
      return tag;
    });
    return this.tags;
  }

  // ---- Overlays ----

  /** Marks on squares: `fills` and `hatches` [square, colour], `texts` [square, text], `arrows` { square, direction, colour, size }, `paths`
   *  { squares, colour, numbers }, `goals` { square, colour, text }. They stay until the next call; null for none. */
  mark(marks) {
    this.marks = marks;
    const c = this.over, s = this.side;
    if (!s) return;
    c.clearRect(0, 0, s * this.size, s * this.size);
    if (!marks) return;
    const place = (square) => [(square % this.size) * s, Math.floor(square / this.size) * s];
    for (const [square, colour] of marks.fills ?? []) {
      c.fillStyle = colour;
      c.fillRect(...place(square), s, s);
    }
    for (const [square, colour] of marks.hatches ?? []) this._hatch(place(square), colour);
    this._texts(marks.texts ?? [], place);
    for (const path of marks.paths ?? []) this._path(path, place);
    for (const goal of marks.goals ?? []) this._goal(goal, place);
    for (const arrow of marks.arrows ?? []) this._arrow(arrow, place);
  }

  _hatch([x, y], colour) {
    const c = this.over, s = this.side;
    c.strokeStyle = colour;
    c.lineWidth = Math.max(1, s * 0.07);
    c.beginPath();
    for (const at of [0.25, 0.5, 0.75, 1]) {
      c.moveTo(x, y + at * s); c.lineTo(x + at * s, y);
      if (at < 1) { c.moveTo(x + at * s, y + s); c.lineTo(x + s, y + at * s); }
    }
    c.stroke();
  }

  _texts(texts, place) {
    const c = this.over, s = this.side;
    if (s / this.ratio < 14) return;
    c.font = `600 ${Math.round(s * 0.36)}px ${FONT}`;
    c.textAlign = 'center';
    c.textBaseline = 'middle';
    c.lineWidth = s * 0.09;
    c.lineJoin = 'round';
    c.strokeStyle = this.theme === 'dark' ? 'rgba(0,0,0,.75)' : 'rgba(255,255,255,.85)';
    c.fillStyle = this.theme === 'dark' ? '#fff' : '#1a1a1a';
    for (const [square, text] of texts) {
      const [x, y] = place(square);
      c.strokeText(text, x + s / 2, y + s / 2);
      c.fillText(text, x + s / 2, y + s / 2);
    }
  }

  _path({ squares, colour, shift = 0 }, place) {
    const c = this.over, s = this.side, off = s / 2 + shift * s;
    const points = squares.map((square) => place(square).map((edge) => edge + off));
    for (const [style, width] of [['rgba(0,0,0,.55)', 0.2], [colour, 0.12]]) {
      c.strokeStyle = style;
      c.lineWidth = s * width;
      c.lineCap = c.lineJoin = 'round';
      c.beginPath();
      points.forEach(([x, y], i) => {
        const [beforeX, beforeY] = points[i - 1] ?? [NaN, NaN];
        if (Math.abs(x - beforeX) + Math.abs(y - beforeY) < 1.5 * s) c.lineTo(x, y);
        else c.moveTo(x, y); // the start, or where somebody respawned
      });
      c.stroke();
    }
    const [x, y] = points[points.length - 1];
    c.fillStyle = colour;
    c.strokeStyle = 'rgba(0,0,0,.65)';
    c.lineWidth = s * 0.05;
    c.beginPath(); c.arc(x, y, s * 0.16, 0, TAU); c.fill(); c.stroke();
  }

  _goal({ square, colour, text }, place) {
    const c = this.over, s = this.side, [x, y] = place(square);
    c.strokeStyle = 'rgba(0,0,0,.6)';
    c.lineWidth = s * 0.17;
    const corners = () => {
      const a = s * 0.06, b = s * 0.94, l = s * 0.26;
      c.beginPath();
      for (const [px, py, dx, dy] of [[a, a, 1, 1], [b, a, -1, 1], [b, b, -1, -1], [a, b, 1, -1]]) {
        c.moveTo(x + px + dx * l, y + py); c.lineTo(x + px, y + py); c.lineTo(x + px, y + py + dy * l);
      }
      c.stroke();
    };
    corners();
    c.strokeStyle = colour;
    c.lineWidth = s * 0.09;
    corners();
    if (text && s / this.ratio >= 14) {
      c.font = `600 ${Math.max(9 * this.ratio, Math.round(s * 0.3))}px ${FONT}`;
      c.textBaseline = 'bottom';
      const wide = c.measureText(text).width;
      const left = Math.min(Math.max(x + s / 2 - wide / 2, 3), s * this.size - wide - 3), base = y < s ? y + s * 1.4 : y - 1;
      c.textAlign = 'left';
      c.lineWidth = s * 0.1;
      c.lineJoin = 'round';
      c.strokeStyle = 'rgba(0,0,0,.8)';
      c.strokeText(text, left, base);
      c.fillStyle = '#fff';
      c.fillText(text, left, base);
    }
  }

  /** An arrow from the middle of a square out of it; `size` 0..1 is its length and thickness. Stay (0) is a ring. */
  _arrow({ square, direction, colour, size }, place) {
    const c = this.over, s = this.side, [x, y] = place(square);
    c.save();
    c.translate(x + s / 2, y + s / 2);
    c.strokeStyle = 'rgba(0,0,0,.6)';
    c.fillStyle = colour;
    c.lineWidth = s * 0.05;
    if (direction === 0) {
      c.beginPath(); c.arc(0, 0, s * 0.5, 0, TAU); c.lineWidth = s * 0.1; c.stroke();
      c.strokeStyle = colour; c.lineWidth = s * 0.055; c.stroke();
    } else {
      c.rotate([0, -Math.PI / 2, Math.PI / 2, 0, Math.PI][direction]);
      const long = s * (0.75 + 0.5 * size), wide = s * 0.1, head = s * 0.24;
      c.beginPath();
      c.moveTo(s * 0.5, -wide); c.lineTo(long, -wide); c.lineTo(long, -head); c.lineTo(long + head * 1.2, 0);
      c.lineTo(long, head); c.lineTo(long, wide); c.lineTo(s * 0.5, wide); c.closePath();
      c.fill(); c.stroke();
    }
    c.restore();
  }

  /** Remove the board from its element. */
  remove() {
    this.resizes.disconnect();
    for (const layer of this.layers) layer.remove();
  }
}

// ---- Effects ----

const UNDER = new Set(['respawn', 'mine']);

function floating(c, s, effect, text, colour) {
  c.globalAlpha = Math.min(1, 2.2 * (1 - effect.t));
  c.font = `800 ${Math.round(Math.max(s * 0.42, 10))}px ${FONT}`;
  c.textAlign = 'center';
  c.textBaseline = 'middle';
  c.lineWidth = Math.max(2, s * 0.1);
  c.lineJoin = 'round';
  c.strokeStyle = 'rgba(0,0,0,.85)';
  const x = (effect.x + 0.5) * s, y = (effect.y + 0.25 - 0.55 * effect.t) * s;
  c.strokeText(text, x, y);
  c.fillStyle = colour;
  c.fillText(text, x, y);
  c.globalAlpha = 1;
}

const EFFECTS = {
  /** A blow: a slash across who is struck, coming from who strikes. */
  blow(c, s, effect) {
    const reach = Math.min(1, effect.t * 2.5), angle = Math.atan2(effect.y - effect.fromY, effect.x - effect.fromX);
    c.save();
    c.translate((effect.x + 0.5) * s, (effect.y + 0.5) * s);
    c.rotate(angle);
    c.globalAlpha = Math.max(0, 1 - effect.t);
    for (const [style, width] of [[HEROES[effect.hero].deep, 0.26], ['#fff', 0.13]]) {
      c.strokeStyle = style;
      c.lineWidth = s * width;
      c.lineCap = 'round';
      c.beginPath();
      c.arc(-s * 0.35, 0, s * 0.55, -0.85, -0.85 + 1.7 * reach);
      c.stroke();
    }
    c.restore();
    floating(c, s, effect, '−20', '#ff8a80');
  },

  /** A death: a ring that opens, and a cross. */
  death(c, s, effect) {
    const x = (effect.x + 0.5) * s, y = (effect.y + 0.5) * s, r = s * (0.3 + 0.75 * effect.t), k = s * 0.26;
    c.globalAlpha = Math.min(1, 1.6 * (1 - effect.t));
    c.strokeStyle = HEROES[effect.hero].main;
    c.lineWidth = s * 0.14 * (1 - 0.6 * effect.t);
    c.beginPath(); c.arc(x, y, r, 0, TAU); c.stroke();
    c.lineCap = 'round';
    for (const [style, width] of [['rgba(0,0,0,.85)', 0.24], ['#fff', 0.12]]) {
      c.strokeStyle = style;
      c.lineWidth = s * width;
      c.beginPath(); c.moveTo(x - k, y - k); c.lineTo(x + k, y + k); c.moveTo(x + k, y - k); c.lineTo(x - k, y + k); c.stroke();
    }
    c.globalAlpha = 1;
  },

  /** Where a hero comes back: a column of light. */
  respawn(c, s, effect) {
    const x = effect.x * s, light = c.createLinearGradient(0, (effect.y - 1) * s, 0, (effect.y + 1) * s);
    light.addColorStop(0, 'rgba(255,255,255,0)');
    light.addColorStop(1, HEROES[effect.hero].main);
    c.globalAlpha = 0.85 * (1 - effect.t);
    c.fillStyle = light;
    c.fillRect(x + s * 0.08, (effect.y - 1) * s, s * 0.84, s * 2);
    c.globalAlpha = 1;
  },

  /** A mine changes its owner: a frame in his colour that widens. */
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

  beer(c, s, effect) {
    floating(c, s, effect, `+${effect.amount ?? 50}`, '#8df59a');
  },
};
