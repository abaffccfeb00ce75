// The patches of a game, as server-sent events. When a connection breaks or is refused, the page connects again, with
// the number of the last event. Then the server sends the events after it. (The browser's `EventSource` gives up if it
// is refused.)

/** Milliseconds until the next attempt to connect: after the first failure, and at most. Each failure doubles the
 *  time. */
const FIRST_MS = 500,
  MOST_MS = 15_000;
/** Why a server refuses a stream, by its status. */
const REFUSALS = {
  404: 'The server does not know this game',
  429: 'The server has too many requests of this address, trying again',
  503: 'The server has too many spectators, trying again',
};

export class Stream {
  /** Follow the events at `address`. `patched` is called with the patches that came together, `changed` after each
   *  change of `state`: "open", "lost", "refused" or "complete". `words` say what a person must know of this state.
   *  If it `rests`, a hidden page has no connection: a browser has six connections to a server, for all its tabs. */
  constructor(address, patched, changed, { rests = false } = {}) {
    this.state = this.words = '';
    this._address = address;
    this._patched = patched;
    this._changed = changed;
    this._id = '';
    this._rests = rests;
    this._ended = false;
    this._connection = null;
    if (rests) document.addEventListener('visibilitychange', () => document.hidden && this._connection?.abort());
    this._follow();
  }

  close() {
    this._ended = true;
    this._connection?.abort();
  }

  /** Whether the page rests. */
  get _hidden() {
    return this._rests && document.hidden;
  }

  async _follow() {
    for (this._wait = FIRST_MS; ; this._wait = Math.min(MOST_MS, 2 * this._wait)) {
      while (this._hidden)
        await new Promise((done) => document.addEventListener('visibilitychange', done, { once: true }));
      this._connection = new AbortController();
      const { signal } = this._connection;
      const headers = { 'Last-Event-ID': this._id };
      const answer = await fetch(this._address, { signal, cache: 'no-store', headers }).catch(() => null);
      if (answer?.ok) await this._read(answer.body);
      if (this._ended || this.state === 'complete') return;
      if (this._hidden) continue;
      if (!answer || answer.ok) this._become('lost', 'Connection lost, trying again');
      else {
        const words = `The server answers with error ${answer.status}, trying again`;
        this._become('refused', REFUSALS[answer.status] ?? words);
      }
      await new Promise((done) => setTimeout(done, this._wait));
    }
  }

  async _read(body) {
    this._become('open', '');
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ''; ; ) {
      const { done, value } = await reader.read().catch(() => ({ done: true }));
      if (done) return;
      const events = (rest + value).split('\n\n');
      rest = events.pop();
      this._take(events.map((event) => Object.fromEntries(event.split('\n').map((line) => line.split(/: (.*)/s, 2)))));
    }
  }

  _take(events) {
    this._id = events.at(-1)?.id ?? this._id;
    this._wait = FIRST_MS / 2;
    this._patched(events.flatMap(({ data }) => (data ? [JSON.parse(data)] : [])));
    if (events.some(({ event }) => event === 'end')) this._become('complete', '');
  }

  _become(state, words) {
    [this.state, this.words] = [state, words];
    if (!this._ended) this._changed(this);
  }
}
