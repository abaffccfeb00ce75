// The game of a link, for its visitors: a person who plays alone, one of several people, their organiser with the start
// page, and a spectator.

import * as api from './api.js';
import { Gathering } from './gathering.js';
import { GameView } from './game.js';
import { Seat } from './seat.js';
import { Votes } from './votes.js';
import { button, el, textButton } from '../core/dom.js';

/** Milliseconds between two requests for the state. */
const EVERY_MS = 1000;

export class Session {
  /** Fill the element `host`. `look` has the theme, and whether the user prefers little motion. `page` has the
   *  functions `choose` (show the form), `organises` and `wrong` (the link is the organiser's, is not valid), and the
   *  `pace`: the number of seconds after which the hero stays if the person has not moved (0: never). */
  constructor(host, token, look, page) {
    this.host = host;
    this.token = token;
    this.page = page;
    this.look = look;
    this.state = null; // the newest state of the host
    this.failure = ''; // why our last action failed
    this.view = null; // the game on the page
    this.id = null; // its id
    this.problem = el('p', { class: 'problem', id: 'problem', role: 'alert' });
    this.ends = new AbortController();
    const { signal } = this.ends;
    window.addEventListener('pagehide', () => this.state?.me !== null && api.closed(this.token), { signal });
    window.addEventListener('beforeunload', (event) => {
      if (this.state?.alone && this.view && !this.view.over) event.preventDefault();
    }, { signal });
    this._watch();
  }

  /** Ask for the state as long as the page is open. */
  async _watch() {
    while (!this.ends.signal.aborted) {
      try {
        await this.ask();
      } catch (problem) {
        this._say(problem.message);
        if (problem.status === 404) { // the token is wrong, and stays so
          this.page.wrong();
          return;
        }
      }
      await api.pause(EVERY_MS);
    }
  }

  /** Ask for the state and show it, unless this happens already. */
  ask() {
    this.asking ??= api.state(this.token).then((state) => this._take(state)).finally(() => { this.asking = null; });
    return this.asking;
  }

  /** Wait for a request that changes the state, and show the new state. */
  async act(request) {
    this.failure = '';
    try {
      await request;
    } catch (problem) {
      this.failure = problem.message;
    }
    await this.ask().catch((problem) => this._say(problem.message));
  }

  _say(words) {
    if (this.problem.textContent !== words) this.problem.textContent = words;
    if (!this.problem.isConnected) this.host.append(this.problem);
  }

  async _take(state) {
    if (this.ends.signal.aborted) return;
    if (!this.state) await this._first(state);
    this.state = state;
    if (state.game && state.game.id !== this.id) await this._open(state);
    if (state.game) this.view.update(state);
    const idle = state.state === 'waiting' || state.state === 'over';
    if (!idle) this.failure = '';
    this._say(this.failure || (idle ? state.problem : ''));
    this.gathering?.show(state, this.view !== null);
    if (this.again) this.again.disabled = !idle;
  }

  async _first(state) {
    if (state.alone) return;
    if (state.organises) this.page.organises();
    this.gathering = new Gathering(this, state, state.organises ? await api.links(this.token) : []);
    this.gathering.host.append(this.problem);
    this.host.replaceChildren(this.gathering.host);
  }

  /** Show the newest game: with the ways to steer a hero if we play in it. */
  async _open(state) {
    const bundle = await api.newestGame(this.token),
      plays = bundle.me !== null;
    if (this.ends.signal.aborted) return;
    this.view?.remove();
    this.host.replaceChildren();
    this.id = state.game.id;
    const view = (this.view = new GameView(this.host, bundle, this.look));
    if (plays) view.add(new Seat(view, this.page.pace, (...move) => api.move(this.token, ...move)));
    if (state.alone) this._alone(view);
    else view.side.append(this.gathering.host);
    // A browser slows the timers of a hidden tab down, but its person is still there.
    view.heard = () => document.hidden && this.ask().catch(() => null);
    view.follow(this.id);
  }

  /** Add what only a person who plays alone has: the votes of the bots, and the end of the game. */
  _alone(view) {
    view.add(new Votes(view, this.token));
    const leave = button('Give up', 'Give up', () => this._giveUp(), { class: 'roomy' });
    view.turnRow.append(leave);
    this.again = textButton('Play again', () => this.act(api.start(this.token)), { class: 'go' });
    view.acts.push(this.again, textButton('New choice', () => this.page.choose(), { class: 'roomy' }));
    view.add({ finished: () => { leave.hidden = true; } });
    view.side.prepend(this.problem);
  }

  _giveUp() {
    if (!window.confirm('End this game?')) return;
    this.act(api.endGame(this.token));
    this.view.finish('The game has ended', 'You gave up.');
  }

  setLook(look) {
    this.view?.setLook(look);
  }

  remove() {
    this.ends.abort();
    this.view?.remove();
  }
}
