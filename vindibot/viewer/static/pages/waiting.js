// A page that waits for the first game: it asks every two seconds for the page at its own address, and shows that page
// as soon as it does not wait any more.

const EVERY = 2000;

async function waits() {
  try {
    const answer = await fetch(location.href, { cache: 'no-store' });
    return (await answer.text()).includes('waiting.js');
  } catch {
    return true; // the server does not answer
  }
}

setInterval(async () => (await waits()) || location.reload(), EVERY);
