// A game that grows: patches by server-sent events. When a connection breaks, the browser asks again with the number of the last
// event that it has seen, and the server sends what is missing.

/** Follow the events at `address`: `patched` gets each patch, `told` the connection's state: "open", "lost" or "ended". */
export function follow(address, patched, told) {
  const source = new EventSource(address);
  source.onopen = () => told('open');
  source.onerror = () => told(source.readyState === EventSource.CLOSED ? 'ended' : 'lost');
  source.onmessage = (event) => patched(JSON.parse(event.data));
  source.addEventListener('end', (event) => {
    patched(JSON.parse(event.data));
    source.close();
    told('ended');
  });
  return source;
}
