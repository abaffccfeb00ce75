// The times of a page, in the time zone and the language of the reader.

/** Show the times below an element. */
export function showTimes(root) {
  for (const time of root.querySelectorAll('time'))
    time.textContent = new Date(time.dateTime).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
}

showTimes(document);
