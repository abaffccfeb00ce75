// Patches of a running game, as server-sent events. When a connection breaks, the browser connects again with the number of the
// last event. Then the server sends the events after it.

/** Follow the events at `address`. `patched` is called with each patch, `connected` with the state of the connection: "open",
 *  "lost" or "ended". */
export function follow(address, patched, connected) {
  const source = new EventSource(address);
  source.onopen = () => connected('open');
  source.onerror = () => connected(source.readyState === EventSource.CLOSED ? 'ended' : 'lost');
  source.onmessage = (event) => patched(JSON.parse(event.data));
  source.addEventListener('end', (event) => {
    patched(JSON.parse(event.data));
    source.close();
    connected('ended');
  });
  return source;
}
