// The turn in the address of the page: `#turn=212` opens the page at turn 212, and follows the turn that is shown.

/** Milliseconds between two changes of the address. Browsers allow only some changes per second. */
const EVERY = 300;

/** Return the turn in the address of the page, null for none. */
function askedTurn() {
  const found = /^#turn=(\d+)$/.exec(location.hash);
  return found ? Number(found[1]) : null;
}

/** Return the address of the page at a turn. */
export function addressOf(turn) {
  return `${location.href.split('#')[0]}#turn=${turn}`;
}

export class Address {
  /** `asked` is called with the turn when the user changes the address. */
  constructor(asked) {
    this.turn = askedTurn();
    this.timer = 0;
    window.addEventListener('hashchange', () => {
      const turn = askedTurn();
      if (turn === null || turn === this.turn) return;
      this.turn = turn;
      asked(turn);
    });
  }

  /** Write a turn into the address, null for none. */
  show(turn) {
    if (turn === this.turn) return;
    this.turn = turn;
    this.timer ||= setTimeout(() => {
      this.timer = 0;
      history.replaceState(null, '', this.turn === null ? location.pathname + location.search : addressOf(this.turn));
    }, EVERY);
  }
}
