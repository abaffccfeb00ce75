// What the type check of the pages' JavaScript cannot see: the generated module, and what tests read.
declare module '*/shapes.js' {
  export const HERO_COLOURS: any, CRASHED: any, LANDS: any, SPRITES: any;
}
interface Element {
  keeps?: boolean;
}
interface Window {
  vindibotPage: any;
  vindibotChallenge: any;
}
