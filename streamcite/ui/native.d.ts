/** The data of each server-sent event of streamcite's own protocol, version 1, by the name of the event. */
export interface NativeEvents {
  start: { version: 1 };
  text: { type: "text"; text: string };
  cited: Cited;
  resolved: { type: "resolved"; index: number; links: Link[]; pending: boolean };
  other: Marker & { type: "other"; family: string; fields: string[] };
  malformed: Marker & { type: "malformed"; reason: Reason };
  patch: BlockPatch;
  end: { complete: boolean; error?: string };
}

/** Any event of a stream, with its name. */
export type NativeEvent = { [Name in keyof NativeEvents]: { event: Name; data: NativeEvents[Name] } }[keyof NativeEvents];

/** Put `html` behind the first `keep` (or 0) UTF-16 code units of the block's HTML. */
export interface BlockPatch {
  block: number;
  html: string;
  keep?: number;
}

/** Markup as the model wrote it, and what is seen of it; offsets are in code points. */
export interface Marker {
  raw: string;
  text: string;
  start: number;
  end: number;
  position: number;
}

export interface Cited {
  type: "cited";
  citation: Marker & { type: "citation"; family: string; references: Reference[]; repaired: boolean };
  /** Which citation of the answer it is, from 0: `data-citation` in the HTML. */
  index: number;
  position: number;
  links: Link[];
  /** Whether a `resolved` of this index follows. */
  pending: boolean;
  text: string;
}

export interface Reference {
  source_id: string;
  locator: string | null;
}

export interface Link {
  reference: Reference;
  source: Source | null;
  passage: Passage | null;
  /** The number of the source in the list, from 1: `data-number` in the HTML. */
  number: number | null;
  problem: "unknown-source" | "ambiguous-source" | "stale-source" | "unknown-lines" | null;
}

export interface Source {
  id: string;
  title: string | null;
  url: string | null;
  unit: "document" | "block" | "lines";
}

export interface Passage {
  text: string;
  start: number;
  first_line: number | null;
  last_line: number | null;
}

export type Reason =
  | "stray_delimiter" | "stray_stop" | "no_delimiter" | "bad_family" | "empty"
  | "no_source" | "bad_source_id" | "unclosed" | "too_long" | "truncated";
