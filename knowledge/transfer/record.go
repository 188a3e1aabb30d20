// Package transfer exports and imports the memory. It reads exports of other programs:
// conversations of ChatGPT and Claude, folders of notes with [[links]] (Obsidian), and contacts
// (vCard). It converts files to Records and Records to files. The importer must check
// Source.Authentic and treat the data of other sources as untrusted. Every reader accepts any input
// and uses a limited amount of memory.
package transfer

import (
	"encoding/json"
	"errors"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
)

// Version is the version of the export formats. A reader accepts files up to its own version.
const Version = 1

// Record is one item in a file. Exactly one field is set.
type Record struct {
	Fact     *knowledge.Fact     `json:"fact,omitempty"`
	Entity   *knowledge.Entity   `json:"entity,omitempty"`
	Relation *knowledge.Relation `json:"relation,omitempty"`
	Note     *Note               `json:"note,omitempty"`
	// Lesson and Preference have the format of package autonomy/mind/learn.
	Lesson     json.RawMessage `json:"lesson,omitempty"`
	Preference json.RawMessage `json:"preference,omitempty"`
	// Document is an ingested file in the format of package knowledge/ingest. Chunk is a part of a
	// document. Turn is a message of a conversation in another program.
	Document json.RawMessage `json:"document,omitempty"`
	Chunk    *knowledge.Doc  `json:"chunk,omitempty"`
	Turn     *knowledge.Doc  `json:"turn,omitempty"`
	Session  *Session        `json:"session,omitempty"`
	Message  *Message        `json:"message,omitempty"`
}

// Note is one of the user's notes.
type Note struct {
	ID         string              `json:"id"`
	Title      string              `json:"title"`
	Text       string              `json:"text"`
	Provenance provenance.Source   `json:"provenance"`
	Origins    []provenance.Origin `json:"origins,omitempty"`
	CreatedAt  time.Time           `json:"created_at"`
	UpdatedAt  time.Time           `json:"updated_at"`
}

// Session is a conversation with Hob. The records of its messages follow it.
type Session struct {
	ID        string    `json:"id"`
	Channel   string    `json:"channel"`
	Chat      string    `json:"chat,omitempty"`
	Turns     int       `json:"turns"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Message is one message of a Session, in the format sent to the model.
type Message struct {
	Session string          `json:"session"`
	Turn    string          `json:"turn"`
	At      time.Time       `json:"at"`
	Message json.RawMessage `json:"message"`
}

// Kind returns the kind of a record, or "" if not exactly one field is set.
func (r Record) Kind() string {
	kind := ""
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"fact", r.Fact != nil},
		{"entity", r.Entity != nil},
		{"relation", r.Relation != nil},
		{"note", r.Note != nil},
		{"lesson", r.Lesson != nil},
		{"preference", r.Preference != nil},
		{"document", r.Document != nil},
		{"chunk", r.Chunk != nil},
		{"turn", r.Turn != nil},
		{"session", r.Session != nil},
		{"message", r.Message != nil},
	} {
		if f.set && kind != "" {
			return ""
		}
		if f.set {
			kind = f.name
		}
	}
	return kind
}

// Limits of a reader.
const (
	// maxRecord is the maximum size of a record in bytes. A message can contain images.
	maxRecord = 64 << 20
	// maxArchive is the maximum unpacked size of an archive.
	maxArchive = 16 << 30
)

// Errors that callers handle.
var (
	ErrNewer   = errors.New("the file was written by a newer version of Hob; update Hob first")
	ErrTooLong = errors.New("a record is longer than 64 MB")
	ErrFormat  = errors.New("unexpected file format")
)

// exportHeader is the first line of a Hob export.
type exportHeader struct {
	Hob     string    `json:"hob"` // always "memory"
	Version int       `json:"version"`
	At      time.Time `json:"at"`
}

type exportTrailer struct {
	Records int `json:"records"`
	// Seal is the hex HMAC-SHA256 of all bytes before its line, with a key of the home that wrote
	// the file.
	Seal string `json:"seal"`
}
