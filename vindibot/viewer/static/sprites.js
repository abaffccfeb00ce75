// Drawings of the things on a board. Each function paints one square of side `s` (device pixels). The top left corner of the
// square is the origin of the context. `sheet` paints all drawings once for a size, so that frames only copy them.

export const FONT = 'system-ui, sans-serif';
export const TAU = 2 * Math.PI;

/** Colours of heroes 1..4: the hero, its edges, and its mines. */
export const HEROES = [
  { name: 'red', main: '#e5484d', deep: '#8f1d24', soft: '#f7b4b2' },
  { name: 'blue', main: '#3e8bf5', deep: '#153f86', soft: '#b3d2fb' },
  { name: 'green', main: '#3fb950', deep: '#125c24', soft: '#b1e6b8' },
  { name: 'orange', main: '#f29a1f', deep: '#8a4b05', soft: '#fbd9a3' },
];

/** The colours of the land. */
export const LANDS = {
  light: {
    ground: ['#eae1c6', '#e6dcbf', '#ede5cd'],
    tuft: '#cbc79a',
    grid: 'rgba(90,70,30,.07)',
    trunk: '#6b4a2b',
    crowns: ['#3f7d4a', '#4b8c52', '#5b9d5c'],
    lit: 'rgba(255,255,220,.28)',
    floor: '#b9c79a',
    shadow: 'rgba(60,45,10,.28)',
    rock: '#8d8a86',
    rockLit: '#b5b2ac',
    rockDeep: '#55524f',
    edge: '#fffdf6',
    ink: '#2b2418',
    wall: '#f3e3bd',
    timber: '#7a4f2a',
    roof: '#a8482f',
    roofLit: '#c4623f',
  },
  dark: {
    ground: ['#2a2f2b', '#272c29', '#2d332e'],
    tuft: '#3b443a',
    grid: 'rgba(255,255,255,.035)',
    trunk: '#3d2d20',
    crowns: ['#1f4530', '#265239', '#2f6043'],
    lit: 'rgba(190,255,200,.10)',
    floor: '#1d2a22',
    shadow: 'rgba(0,0,0,.45)',
    rock: '#63646a',
    rockLit: '#83858c',
    rockDeep: '#34353a',
    edge: '#10140f',
    ink: '#f2efe6',
    wall: '#cdb88d',
    timber: '#5a3b20',
    roof: '#8b3a28',
    roofLit: '#a85438',
  },
};

/** Return a pseudo-random number 0..1, which is always the same for the same square. */
export function noise(x, y, salt = 0) {
  let h = (x * 374761393 + y * 668265263 + salt * 1442695041) | 0;
  h = Math.imul(h ^ (h >>> 13), 1274126177);
  return ((h ^ (h >>> 16)) >>> 0) / 4294967296;
}

function disc(c, x, y, r, fill) {
  c.beginPath();
  c.arc(x, y, r, 0, 2 * Math.PI);
  c.fillStyle = fill;
  c.fill();
}

function shape(c, s, points, fill, line, width) {
  c.beginPath();
  points.forEach(([x, y], i) => (i ? c.lineTo(x * s, y * s) : c.moveTo(x * s, y * s)));
  c.closePath();
  if (fill) {
    c.fillStyle = fill;
    c.fill();
  }
  if (line) {
    c.strokeStyle = line;
    c.lineWidth = width * s;
    c.lineJoin = 'round';
    c.stroke();
  }
}

function ellipse(c, s, x, y, rx, ry, fill) {
  c.beginPath();
  c.ellipse(x * s, y * s, rx * s, ry * s, 0, 0, 2 * Math.PI);
  c.fillStyle = fill;
  c.fill();
}

export function drawGround(c, s, land, x, y) {
  c.fillStyle = land.ground[Math.floor(noise(x, y) * land.ground.length)];
  c.fillRect(0, 0, s, s);
  c.fillStyle = land.grid;
  c.fillRect(0, 0, s, Math.max(1, s * 0.03));
  c.fillRect(0, 0, Math.max(1, s * 0.03), s);
  if (s < 14) return;
  c.strokeStyle = land.tuft;
  c.lineWidth = Math.max(1, s * 0.035);
  for (let i = 0; i < 2; i++) {
    if (noise(x, y, 3 + i) < 0.55) continue;
    const px = (0.15 + 0.7 * noise(x, y, 5 + i)) * s,
      py = (0.25 + 0.65 * noise(x, y, 7 + i)) * s,
      l = s * 0.09;
    c.beginPath();
    c.moveTo(px - l, py - l);
    c.lineTo(px, py);
    c.lineTo(px + l * 0.8, py - l * 1.2);
    c.stroke();
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
  const crown = land.crowns[Math.floor(noise(x, y, 14) * land.crowns.length)];
  c.save();
  c.translate((0.5 + dx) * s, (0.5 + dy) * s);
  c.scale(k, k);
  c.translate(-0.5 * s, -0.5 * s);
  ellipse(c, s, 0.53, 0.88, 0.34, 0.11, land.shadow);
  c.fillStyle = land.trunk;
  c.fillRect(0.45 * s, 0.68 * s, 0.1 * s, 0.22 * s);
  if (noise(x, y, 15) < 0.45) {
    // a fir
    for (const [top, bottom, half] of [
      [0.42, 0.82, 0.36],
      [0.22, 0.62, 0.3],
      [0.02, 0.4, 0.22],
    ]) {
      shape(
        c,
        s,
        [
          [0.5, top],
          [0.5 + half, bottom],
          [0.5 - half, bottom],
        ],
        crown,
      );
      shape(
        c,
        s,
        [
          [0.5, top],
          [0.5, bottom],
          [0.5 - half, bottom],
        ],
        land.lit,
      );
    }
  } else {
    disc(c, 0.31 * s, 0.54 * s, 0.23 * s, crown);
    disc(c, 0.69 * s, 0.54 * s, 0.23 * s, crown);
    disc(c, 0.5 * s, 0.35 * s, 0.29 * s, crown);
    disc(c, 0.5 * s, 0.56 * s, 0.24 * s, crown);
    disc(c, 0.42 * s, 0.28 * s, 0.15 * s, land.lit);
    disc(c, 0.27 * s, 0.49 * s, 0.1 * s, land.lit);
  }
  c.restore();
}

export function drawTavern(c, s, land) {
  ellipse(c, s, 0.5, 0.9, 0.44, 0.1, land.shadow);
  c.fillStyle = land.wall;
  c.fillRect(0.16 * s, 0.46 * s, 0.68 * s, 0.44 * s);
  c.strokeStyle = land.timber;
  c.lineWidth = Math.max(1, 0.05 * s);
  c.strokeRect(0.16 * s, 0.46 * s, 0.68 * s, 0.44 * s);
  shape(
    c,
    s,
    [
      [0.5, 0.06],
      [0.96, 0.5],
      [0.04, 0.5],
    ],
    land.roof,
    land.timber,
    0.04,
  );
  shape(
    c,
    s,
    [
      [0.5, 0.06],
      [0.5, 0.5],
      [0.04, 0.5],
    ],
    'rgba(255,200,150,.16)',
  );
  c.fillStyle = land.timber;
  c.fillRect(0.56 * s, 0.62 * s, 0.18 * s, 0.28 * s);
  // the sign of a tavern: a mug with foam
  c.fillStyle = '#f5b82e';
  c.fillRect(0.24 * s, 0.61 * s, 0.2 * s, 0.2 * s);
  c.strokeStyle = '#f5b82e';
  c.lineWidth = 0.045 * s;
  c.beginPath();
  c.arc(0.45 * s, 0.71 * s, 0.065 * s, -1.4, 1.4);
  c.stroke();
  c.fillStyle = '#fffbe8';
  c.fillRect(0.22 * s, 0.57 * s, 0.24 * s, 0.08 * s);
  disc(c, 0.5 * s, 0.33 * s, 0.075 * s, '#ffd978');
}

/** Paint a mine of hero `owner` (0..3; -1: no owner). */
export function drawMine(c, s, land, owner) {
  const own = HEROES[owner];
  if (own) {
    c.fillStyle = own.main;
    c.globalAlpha = 0.42;
    c.beginPath();
    c.roundRect(0.03 * s, 0.03 * s, 0.94 * s, 0.94 * s, 0.16 * s);
    c.fill();
    c.globalAlpha = 1;
  }
  ellipse(c, s, 0.5, 0.9, 0.46, 0.09, land.shadow);
  const rock = own ? own.main : land.rock,
    deep = own ? own.deep : land.rockDeep;
  shape(
    c,
    s,
    [
      [0.05, 0.9],
      [0.13, 0.58],
      [0.3, 0.36],
      [0.46, 0.22],
      [0.66, 0.3],
      [0.84, 0.52],
      [0.95, 0.9],
    ],
    rock,
    deep,
    0.05,
  );
  shape(
    c,
    s,
    [
      [0.13, 0.58],
      [0.3, 0.36],
      [0.46, 0.22],
      [0.5, 0.4],
      [0.32, 0.56],
    ],
    'rgba(255,255,255,.3)',
  );
  c.beginPath();
  c.moveTo(0.3 * s, 0.9 * s);
  c.lineTo(0.3 * s, 0.7 * s);
  c.arc(0.5 * s, 0.7 * s, 0.2 * s, Math.PI, 0);
  c.lineTo(0.7 * s, 0.9 * s);
  c.closePath();
  c.fillStyle = '#1a1512';
  c.fill();
  c.strokeStyle = '#b98545';
  c.lineWidth = 0.06 * s;
  c.stroke();
  for (const [x, y, r] of [
    [0.42, 0.84, 0.065],
    [0.55, 0.85, 0.07],
    [0.49, 0.76, 0.055],
  ])
    disc(c, x * s, y * s, r * s, '#ffd23e');
  if (own) {
    c.strokeStyle = land.ink;
    c.lineWidth = Math.max(1, 0.04 * s);
    c.beginPath();
    c.moveTo(0.64 * s, 0.34 * s);
    c.lineTo(0.64 * s, 0.02 * s);
    c.stroke();
    shape(
      c,
      s,
      [
        [0.64, 0.02],
        [0.97, 0.11],
        [0.64, 0.22],
      ],
      own.main,
      own.deep,
      0.035,
    );
  }
}

/** Paint hero 0..3: cape, helmet with a plume, a shield with its number. */
export function drawHero(c, s, hero, { crashed = false } = {}) {
  const own = HEROES[hero];
  const main = crashed ? '#8c8c8c' : own.main,
    deep = crashed ? '#444' : own.deep;
  ellipse(c, s, 0.5, 0.91, 0.34, 0.085, 'rgba(0,0,0,.38)');
  c.lineJoin = 'round';
  const body = new Path2D();
  body.moveTo(0.5 * s, 0.38 * s);
  body.bezierCurveTo(0.86 * s, 0.42 * s, 0.88 * s, 0.76 * s, 0.86 * s, 0.92 * s);
  body.lineTo(0.14 * s, 0.92 * s);
  body.bezierCurveTo(0.12 * s, 0.76 * s, 0.14 * s, 0.42 * s, 0.5 * s, 0.38 * s);
  const head = new Path2D();
  head.arc(0.5 * s, 0.33 * s, 0.215 * s, 0, 2 * Math.PI);
  const plume = new Path2D();
  plume.moveTo(0.47 * s, 0.16 * s);
  plume.bezierCurveTo(0.5 * s, -0.06 * s, 0.86 * s, 0 * s, 0.86 * s, 0.27 * s);
  plume.bezierCurveTo(0.74 * s, 0.12 * s, 0.62 * s, 0.12 * s, 0.53 * s, 0.17 * s);
  plume.closePath();
  c.strokeStyle = '#fffdf5';
  c.lineWidth = Math.max(2, 0.115 * s);
  for (const path of [body, head, plume]) c.stroke(path);
  c.strokeStyle = deep;
  c.lineWidth = Math.max(1, 0.04 * s);
  c.fillStyle = main;
  c.fill(body);
  c.stroke(body);
  c.fillStyle = '#fffdf5';
  c.fill(plume);
  c.stroke(plume);
  c.fillStyle = main;
  c.fill(head);
  c.stroke(head);
  c.fillStyle = '#181b20';
  c.beginPath();
  c.roundRect(0.33 * s, 0.29 * s, 0.34 * s, 0.095 * s, 0.02 * s);
  c.fill();
  c.fillRect(0.465 * s, 0.29 * s, 0.07 * s, 0.22 * s);
  c.fillStyle = 'rgba(255,255,255,.65)';
  c.beginPath();
  c.ellipse(0.42 * s, 0.22 * s, 0.07 * s, 0.035 * s, -0.5, 0, 2 * Math.PI);
  c.fill();
  const shield = new Path2D();
  shield.moveTo(0.31 * s, 0.55 * s);
  shield.lineTo(0.69 * s, 0.55 * s);
  shield.bezierCurveTo(0.69 * s, 0.78 * s, 0.62 * s, 0.86 * s, 0.5 * s, 0.93 * s);
  shield.bezierCurveTo(0.38 * s, 0.86 * s, 0.31 * s, 0.78 * s, 0.31 * s, 0.55 * s);
  c.fillStyle = '#fffdf5';
  c.fill(shield);
  c.strokeStyle = deep;
  c.stroke(shield);
  c.fillStyle = deep;
  c.font = `800 ${Math.round(0.31 * s)}px system-ui, sans-serif`;
  c.textAlign = 'center';
  c.textBaseline = 'middle';
  c.fillText(String(hero + 1), 0.5 * s, 0.715 * s);
}

/** Return a canvas of `width` x `height` device pixels that is not part of the page. */
export function canvas(width, height) {
  const made = document.createElement('canvas');
  made.width = Math.max(1, Math.round(width));
  made.height = Math.max(1, Math.round(height));
  return made;
}

/** Return the drawings of all things that move or change, for squares of `s` device pixels. Frames copy these drawings. Heroes
 *  are larger than a square by the factor `grown`: `heroes[i]` has the side `hero`, and the feet of the hero are in the middle
 *  of the square. */
export function sheet(s, land, grown) {
  const paint = (side, draw) => {
    const made = canvas(side, side);
    draw(made.getContext('2d'));
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
