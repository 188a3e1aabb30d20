// Package provenance names where a piece of text came from. Every part of a
// conversation, every fact and every event carries one Source; the guard
// derives from it whether a model call is tainted. The package holds no policy.
package provenance

// Source is the author class of a text. The zero value is Unknown, which counts
// as Outside, so that forgetting to set it fails closed.
type Source string

// The sources.
const (
	Unknown Source = ""        // not set: treated as Outside
	Owner   Source = "owner"   // typed by the owner on a proven channel
	Hob     Source = "hob"     // written by Hob itself (prompts, notices, templates)
	Tool    Source = "tool"    // a result Hob computed from its own data
	Outside Source = "outside" // mail, web, feeds, other people, files Hob did not write
)

// Tainted reports whether text of this source may contain instructions of other
// people.
func (s Source) Tainted() bool {
	switch s {
	case Owner, Hob, Tool:
		return false
	}
	return true
}

// Worst returns Outside if any source is tainted, otherwise the first source, or
// Hob if there are none.
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
