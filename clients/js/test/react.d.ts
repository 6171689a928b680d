// The part of React's types that react/ needs, so that any TypeScript version compiles it.
declare module 'react' {
  export type ReactNode = unknown;
  export interface ReactElement { type: unknown; props: unknown }
  export interface Context<T> { Provider: (props: { value: T }) => ReactElement }
  export function createContext<T>(value: T): Context<T>;
  export function createElement(type: unknown, props: object | null, ...children: unknown[]): ReactElement;
  export function useCallback<F>(fn: F, of: unknown[]): F;
  export function useContext<T>(context: Context<T>): T;
  export function useSyncExternalStore<T>(subscribe: (changed: () => void) => () => void, read: () => T, onServer: () => T): T;
}
