// A board of any size on four canvases. The first has land and mines, and is painted again only where a mine changes
// its owner. The second has overlays. The third has heroes and effects, and is painted again in each frame. The fourth
// has arrows and texts of overlays, which names of heroes must not hide.
//
// It draws on canvases, not with SVG: at 64x, on a processor slowed by 4, moving four `<use>` elements over a land of
// 28x28 as SVG took 20 ms a frame, and 29 of 36 frames were lost. The whole page takes 11 ms (`tests.benchmarks`).
//
//   const board = new Board(element, { size, tiles, names, me, spawns });
//   board.frame({ owners, heroes, effects });   // see scene.js, which makes scenes from states
//   board.mark(marks);                          // see marks.js; null for none
//
// `tiles` has the kind of each square (names.js), row after row. Squares are numbered from 0 in this order.

import { MINE, TAVERN, WOOD } from '../game/names.js';
import { drawEffects, drawNumbers } from './effects.js';
import { Marker } from './marks.js';
import {
  FONT,
  HEROES,
  LANDS,
  canvas,
  drawForestFloor,
  drawGround,
  drawOurs,
  drawSpawn,
  drawTavern,
  drawTree,
  sheet,
} from './sprites.js';

/** Smallest side of a square, in CSS pixels, at which names and numbers are readable. */
const ROOM_FOR_NAMES = 17;
const NAME_LENGTH = 14;

/** Return the first letters of a name that fit into a tag. */
function shortName(name, length = NAME_LENGTH) {
  const letters = Array.from(name);
  return letters.length > length ? `${letters.slice(0, length - 1).join('')}…` : name;
}

export class Board {
  /** Make a board inside `host`, an empty element whose width sets the size of the board. `me` is our hero 0..3, or
   *  -1. */
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
    host.classList.add('board');
    this.layers = ['land', 'marks', 'actors', 'top'].map((name) => {
      const layer = document.createElement('canvas');
      layer.className = `layer layer-${name}`;
      layer.setAttribute('aria-hidden', 'true');
      host.append(layer);
      return layer;
    });
    const contexts = this.layers.map((layer) => layer.getContext('2d'));
    this.land = contexts[0];
    this.over = contexts[1];
    this.actors = contexts[2];
    this.top = contexts[3];
    host.setAttribute('role', 'img');
    host.setAttribute('aria-label', label);
    this.resizes = new ResizeObserver(() => this.resize());
    this.resizes.observe(host);
    this.resize();
  }

  /** Describe the board in words, for screen readers. */
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

  /** Return the square under a point of the window, or null. */
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
    // On small squares, heroes are drawn larger than the square, so that they are visible among the mines.
    const pixels = this.side / this.ratio,
      grown = Math.max(1.12, Math.min(1.5, 1.12 + (32 - pixels) * 0.025));
    this.sheet = sheet(this.side, LANDS[this.theme], grown);
    this.grown = grown;
    this.tags = null;
    this._paintLand();
    this.mark(this.marks);
    this.repaint();
  }

  /** Draw the last scene again. */
  repaint() {
    if (this.scene) this.frame(this.scene);
  }

  // ---- Land ----

  _paintLand() {
    const { size, side, tiles } = this,
      land = LANDS[this.theme];
    const still = canvas(side * size, side * size),
      c = still.getContext('2d');
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
      if (hero >= 0) drawSpawn(c, side, hero);
    });
    each((tile, x, y) => {
      if (tile === WOOD) drawTree(c, side, land, x, y);
      else if (tile === TAVERN) drawTavern(c, side, land);
    });
    this.still = still;
    this.land.drawImage(still, 0, 0);
    this.painted = new Int8Array(tiles.length).fill(-2);
  }

  _paintMines(owners) {
    const { size, side } = this;
    for (let i = 0; i < owners.length; i++) {
      if (this.tiles[i] !== MINE || this.painted[i] === owners[i]) continue;
      const x = (i % size) * side,
        y = Math.floor(i / size) * side;
      this.painted[i] = owners[i];
      this.land.drawImage(this.still, x, y, side, side, x, y, side, side);
      this.land.drawImage(this.sheet.mines[owners[i] < 5 ? owners[i] : 0], x, y);
    }
  }

  // ---- Heroes and effects ----

  /** Show a scene: `owners` (per square: 0 none, 1..4 heroes), four `heroes` { x, y, life, crashed, alpha },
   *  `effects` { kind, x, y, hero, t } with t from 0 to 1. With `hasty`, no numbers are drawn. Positions are columns
   *  and rows; a fraction is between two squares. */
  frame(scene) {
    this.scene = scene;
    if (!this.side) return;
    const c = this.actors,
      s = this.side;
    this._paintMines(scene.owners);
    c.clearRect(0, 0, s * this.size, s * this.size);
    drawEffects(c, s, scene.effects, true);
    const order = [...scene.heroes.keys()].sort((a, b) => scene.heroes[a].y - scene.heroes[b].y);
    for (const i of order) this._hero(c, scene.heroes[i], i);
    for (const i of order) this._tag(c, scene.heroes[i], i);
    drawEffects(c, s, scene.effects, false);
    if (!scene.hasty) drawNumbers(c, s, scene.effects);
  }

  _hero(c, hero, index) {
    const s = this.side,
      side = this.sheet.hero;
    c.globalAlpha = hero.alpha ?? 1;
    if (index === this.me) {
      c.save();
      c.translate(hero.x * s, hero.y * s);
      drawOurs(c, s);
      c.restore();
    }
    const image = this.sheet.heroes[index][hero.crashed ? 1 : 0];
    c.drawImage(image, Math.round((hero.x + 0.5) * s - side / 2), Math.round((hero.y + 1.02) * s - side));
    c.globalAlpha = 1;
  }

  /** Draw the name and the life over a hero, or below a hero in the topmost row. */
  _tag(c, hero, index) {
    const s = this.side,
      pixel = this.ratio;
    c.globalAlpha = hero.alpha ?? 1;
    const wide = Math.round(Math.max(s * 0.94, 12 * pixel)),
      high = Math.max(Math.round(s * 0.13), Math.round(3 * pixel));
    const named = this.showNames && s / pixel >= ROOM_FOR_NAMES;
    const tag = named ? this._names()[index] : null;
    const above = (hero.y + 1.02 - 1.06 * this.grown) * s - high,
      below = above - (tag?.height ?? 0) - 3 * pixel < 0;
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
      const text = shortName(name),
        pixel = this.ratio,
        size = Math.round(Math.min(13, Math.max(9.5, (this.side / pixel) * 0.34)) * pixel);
      const ruler = canvas(1, 1).getContext('2d'),
        font = `600 ${size}px ${FONT}`;
      ruler.font = font;
      const tag = canvas(Math.ceil(ruler.measureText(text).width) + 8 * pixel, size + 5 * pixel),
        c = tag.getContext('2d');
      c.fillStyle = 'rgba(14,16,20,.78)';
      c.beginPath();
      c.roundRect(0, 0, tag.width, tag.height, 4 * pixel);
      c.fill();
      c.font = font;
      c.fillStyle = index === this.me ? '#ffe08a' : HEROES[index].soft;
      c.textBaseline = 'middle';
      c.fillText(text, 4 * pixel, tag.height / 2 + 0.5 * pixel);
      return tag;
    });
    return this.tags;
  }

  // ---- Overlays ----

  /** Show marks (see marks.js) until the next call; null for none. */
  mark(marks) {
    this.marks = marks;
    if (!this.side) return;
    for (const layer of [this.over, this.top]) layer.clearRect(0, 0, this.side * this.size, this.side * this.size);
    if (!marks) return;
    new Marker(this.over, this).draw(marks);
    new Marker(this.top, this).drawOver(marks);
  }

  /** Remove the board from its element. */
  remove() {
    this.resizes.disconnect();
    for (const layer of this.layers) layer.remove();
  }
}
