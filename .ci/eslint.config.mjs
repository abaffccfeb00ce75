// The rules for the JavaScript of the pages: unknown and unused names, and what is a mistake in nearly every case.

const GLOBALS = `window document location history navigator performance console fetch setTimeout setInterval clearTimeout
  clearInterval requestAnimationFrame matchMedia localStorage sessionStorage getComputedStyle URL URLSearchParams Blob Response
  DOMParser atob Node Element HTMLElement Event AbortController AbortSignal ResizeObserver IntersectionObserver TextDecoderStream
  DecompressionStream Path2D OffscreenCanvas`;
/** The folders of the pages' modules. A module imports only modules of its own folder and of the folders before it. */
const FOLDERS = ['core', 'game', 'board', 'parts', 'challenge', 'pages'];

export default [
  {
    languageOptions: { globals: Object.fromEntries(GLOBALS.split(/\s+/).map((name) => [name, 'readonly'])) },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: Object.fromEntries(
      `no-undef no-unused-vars no-redeclare no-shadow no-const-assign no-dupe-keys no-dupe-class-members no-dupe-args
      no-unreachable no-fallthrough no-self-assign no-self-compare no-unused-private-class-members no-loss-of-precision no-sparse-arrays
      no-unsafe-finally no-unsafe-negation no-unsafe-optional-chaining use-isnan valid-typeof no-cond-assign no-empty
      no-constant-binary-expression no-duplicate-imports no-import-assign no-this-before-super constructor-super getter-return
      array-callback-return no-template-curly-in-string no-var prefer-const eqeqeq no-eval no-implied-eval no-new-func
      no-throw-literal require-yield no-useless-escape no-useless-catch no-useless-return no-lonely-if no-else-return
      object-shorthand prefer-template`
        .split(/\s+/)
        .map((rule) => [rule, 'error']),
    ),
  },
  { rules: { 'max-len': ['error', { code: 120, ignoreUrls: true }] } },
  ...FOLDERS.slice(0, -1).map((folder, place) => ({
    files: [`vindibot/viewer/static/${folder}/*.js`],
    rules: { 'no-restricted-imports': ['error', { patterns: FOLDERS.slice(place + 1).map((later) => `../${later}/*`) }] },
  })),
];
