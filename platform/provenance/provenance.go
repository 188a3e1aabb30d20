// Package provenance states where text comes from. Every part of a conversation, every fact and
// every event has one Source. The guard derives from it whether a model call is tainted. The
// package contains no policy.
package provenance

// Source is the class of a text's author. The zero value is Unknown, which counts as Outside, so
// that code that forgets to set it fails closed.
type Source string

// The sources.
const (
	Unknown Source = ""        // not set, treated as Outside
	Owner   Source = "owner"   // typed by the owner on a verified channel
	Hob     Source = "hob"     // written by Hob itself (prompts, notices, templates)
	Tool    Source = "tool"    // a result that Hob computed from its own data
	Outside Source = "outside" // email, web pages, feeds, other people, files that Hob did not write
)

// Tainted reports whether text from this source may contain instructions from other people.
func (s Source) Tainted() bool {
	switch s {
	case Owner, Hob, Tool:
		return false
	}
	return true
}

// Worst returns Outside if any source is tainted. Otherwise it returns the first source, or Hob if
// there are none.
func Worst(sources ...Source) Source {
	for _, s := range sources {
		if s.Tainted() {
			return Outside
		}
	}
	if len(sources) == 0 {
		return Hob
	}
	return sources[0]
}
