// The file of the game: the recording of our bot, or the game record of a server or an arena. A self-contained page
// contains this file in compressed form. Other pages have its address.

/** Return the file of the game, null if there is none: { name, kind, save }. `save` downloads the file. */
export function gameFile(bundle, { record, recording, name: served }) {
  /** @type {HTMLTemplateElement} */
  const inside = document.querySelector('template#file');
  const name = inside?.dataset.name ?? served ?? `${bundle.id}.games.jsonl`;
  const address = recording ?? record;
  if (!inside && !address) return null;
  const save = async () => {
    if (!inside) return download(address, name);
    const url = URL.createObjectURL(await unpacked(inside.content.textContent));
    download(url, name);
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  };
  return { name, kind: bundle.why ? 'recording' : 'game record', save };
}

/** Return the content of a text in base64, unzipped, as a blob. */
async function unpacked(base64) {
  const bytes = Uint8Array.from(atob(base64.trim()), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).blob();
}

function download(address, name) {
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
}
