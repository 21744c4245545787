// Package manifest says which data files exist: the entries that add and remove them, the
// files that hold those entries (manifests), and the lists of manifests that make a snapshot.
//
// An [Entry] adds or deletes one [File] of one [Group] (partition and bucket). A manifest is a
// list of entries, coded by [EncodeEntries] and [DecodeEntries]; a manifest list is a list of
// [ListEntry], one for each manifest with what is in it at a glance ([Summarize]), coded by
// [EncodeList] and [DecodeList]. FORMAT.md beside this file has the bytes.
//
// Data moves through it like this: the lists of a snapshot name manifests; their entries, in
// order, go through [Fold], which leaves the live ones; [Runs] arranges the live entries of one
// group as sorted runs, newest first. When a snapshot is committed, [PlanMerge] picks manifests
// to be joined and [Merged] joins their entries.
//
// All of it is a function of its arguments: no store, no clock.
//
// What must stay true: a file is added at most once and deleted at most once per level, so an
// identity ([Entry.Identity]) is live or dead, never "live twice"; and in a group the files of a
// level ≥ 1 are disjoint by key (Fold and Runs return errors otherwise).
package manifest
