// Package port carries what is remembered out of Hob and back, and reads what
// other programs export: conversations of ChatGPT and Claude, folders of notes
// with [[links]] (Obsidian), and contacts (vCard). It turns files into Records
// and Records into files. It decides nothing about what becomes of them: whoever
// imports has to look at Source.Sealed, and must treat what is not sealed as
// text from outside. Every reader takes any input, in bounded memory.
package port

import (
	"encoding/json"
	"errors"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
)

// Version is that of the formats that this package writes. A reader takes those
// up to its own.
const Version = 1

// Record is one thing in a file; exactly one field is set.
type Record struct {
	Fact     *knowledge.Fact     `json:"fact,omitempty"`
	Entity   *knowledge.Entity   `json:"entity,omitempty"`
	Relation *knowledge.Relation `json:"relation,omitempty"`
	Note     *Note               `json:"note,omitempty"`
	// Lesson and Preference are as package autonomy/learn writes them.
	Lesson     json.RawMessage `json:"lesson,omitempty"`
	Preference json.RawMessage `json:"preference,omitempty"`
	// Document is a file that was taken in, as package knowledge/ingest writes
	// it; Chunk is a part of one, Turn a message of a conversation elsewhere.
	Document json.RawMessage `json:"document,omitempty"`
	Chunk    *knowledge.Doc  `json:"chunk,omitempty"`
	Turn     *knowledge.Doc  `json:"turn,omitempty"`
	Session  *Session        `json:"session,omitempty"`
	Message  *Message        `json:"message,omitempty"`
}

// Note is a note of the owner's.
type Note struct {
	ID         string              `json:"id"`
	Title      string              `json:"title"`
	Text       string              `json:"text"`
	Provenance provenance.Source   `json:"provenance"`
	Origins    []provenance.Origin `json:"origins,omitempty"`
	CreatedAt  time.Time           `json:"created_at"`
	UpdatedAt  time.Time           `json:"updated_at"`
}

// Session is a conversation with Hob; its messages follow it.
type Session struct {
	ID        string    `json:"id"`
	Channel   string    `json:"channel"`
	Chat      string    `json:"chat,omitempty"`
	Turns     int       `json:"turns"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Message is one message of a Session, as it was sent to a model.
type Message struct {
	Session string          `json:"session"`
	Turn    string          `json:"turn"`
	At      time.Time       `json:"at"`
	Message json.RawMessage `json:"message"`
}

// Kind names what a record is; "" when it is nothing, or more than one thing.
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

// Bounds of what is read.
const (
	// maxRecord is the longest record in bytes: a message may hold pictures.
	maxRecord = 64 << 20
	// maxArchive is the most that is unpacked of an archive.
	maxArchive = 16 << 30
)

// Errors a caller can act on.
var (
	ErrNewer   = errors.New("the file was written by a newer version of Hob; update Hob first")
	ErrTooLong = errors.New("a record is longer than 64 MB")
	ErrFormat  = errors.New("unexpected file format")
)

// head is the first line of what Hob writes, end its last.
type head struct {
	Hob     string    `json:"hob"` // "memory"
	Version int       `json:"version"`
	At      time.Time `json:"at"`
}

type end struct {
	Records int `json:"records"`
	// Seal is the hex HMAC-SHA256, under a key of the home that wrote it, of all
	// bytes before the line in which it stands.
	Seal string `json:"seal"`
}
