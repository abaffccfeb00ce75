// The page of a game of several people, for its three kinds of visitors: the organiser with the start page, a person
// with the link of a hero, and a spectator. The part of the page's address after # is the token of the link.

import * as api from './api.js';
import { Gathering } from './gathering.js';
import { Seat } from './seat.js';
import { Show } from './show.js';
import { el } from '/viewer/dom.js';
import { store, stored } from '/viewer/storage.js';

const MEMORY = 'vindibot-challenge-organiser';
/** Milliseconds between two requests for the state. */
const EVERY_MS = 1000;

/** Remove the organiser's token from the address, which a projector shows. The tab keeps the token. */
function hide(token) {
  if (store(MEMORY, token, 'sessionStorage')) history.replaceState(null, '', location.pathname);
}

export class People {
  /** Fill the element `host`. `options` has the theme and whether the user prefers little motion. */
  constructor(host, options) {
    this.host = host;
    this.options = options;
    this.token = location.hash.slice(1) || stored(MEMORY, 'sessionStorage') || '';
    this.gathering = null;
    this.shown = null; // the game on the page
    this.id = null; // its id
    this.problem = el('p', { class: 'problem', role: 'alert' });
    window.addEventListener('hashchange', () => location.reload());
    window.addEventListener('pagehide', () => this.gathering?.role === 'person' && api.closed(this.token));
    this.watch();
  }

  /** Ask for the state as long as the page is open. */
  async watch() {
    for (;;) {
      try {
        await this.look();
      } catch (problem) {
        this.problem.textContent = problem.message;
        if (!this.gathering) this.host.replaceChildren(this.problem);
        if (problem.status === 404) { // the token is wrong, and stays so
          store(MEMORY, '', 'sessionStorage');
          return;
        }
      }
      await api.pause(EVERY_MS);
    }
  }

  /** Ask for the state and show it, unless this happens already. */
  look() {
    this.looking ??= this._look().finally(() => { this.looking = null; });
    return this.looking;
  }

  async _look() {
    await this.take(await api.people(this.token));
    this.problem.textContent = '';
  }

  async take(state) {
    if (!this.gathering) {
      if (state.role === 'organiser') hide(this.token);
      this.gathering = new Gathering(this.token, state, state.role === 'organiser' ? await api.links(this.token) : [],
        () => this.look());
      this.gathering.host.append(this.problem);
      this.host.replaceChildren(this.gathering.host);
    }
    if (state.game && state.game.id !== this.id) await this._open(state);
    if (state.game) this.shown.update(state);
    this.gathering.show(state, this.shown !== null);
  }

  /** Show the newest game: with the ways to steer a hero if we play in it. */
  async _open(state) {
    const bundle = await api.newestGame(this.token),
      plays = bundle.me !== null;
    this.shown?.remove();
    this.host.replaceChildren();
    this.id = state.game.id;
    this.shown = plays ? new Seat(this.host, bundle, this.options) : new Show(this.host, bundle, this.options);
    // A browser slows the timers of a hidden tab down, but its person is still there.
    this.shown.heard = () => document.hidden && this.look().catch(() => null);
    if (plays) this.shown.play(this.id, (...move) => api.move(this.token, ...move));
    else this.shown.follow(this.id);
    this.shown.side.append(this.gathering.host);
  }

  setTheme(theme) {
    this.options.theme = theme;
    this.shown?.setTheme(theme);
  }

  setStill(still) {
    this.options.still = still;
    this.shown?.setStill(still);
  }
}
