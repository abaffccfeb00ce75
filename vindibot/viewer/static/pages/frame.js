// The page in a frame of another page: what the address asks for, and messages with the height of the page.
//
//   /GAME?turn=200&autoplay&loop&controls=0

/** Milliseconds for which the last state is shown before a game begins again. */
export const REST = 3000;

/** Return what the address of the page asks for. `turn` is null for none. A word such as `autoplay` counts with and
 *  without the value 1; the value 0 switches it off. */
export function wishes(address = location) {
  const asked = new URLSearchParams(address.search),
    on = (name) => asked.has(name) && asked.get(name) !== '0',
    turn = asked.get('turn') ?? '';
  return {
    turn: /^\d{1,9}$/.test(turn) ? Number(turn) : null,
    autoplay: on('autoplay'),
    loop: on('loop'),
    controls: asked.get('controls') !== '0',
  };
}

/** Return whether the page is in a frame. */
export const framed = () => window.parent !== window;

/** Tell the page around this one how high `main` is, now and after each change: `{ type: 'vindibot', height }`, in
 *  CSS pixels. */
export function tellHeight(main) {
  let told = 0;
  const tell = () => {
    const height = Math.ceil(main.getBoundingClientRect().height);
    if (height === told) return;
    told = height;
    window.parent.postMessage({ type: 'vindibot', height }, '*'); // any page may know it
  };
  new ResizeObserver(tell).observe(main);
}
