package api

import (
	"context"
	"time"

	"hob/platform/provenance"
)

// Documents manages the files that Hob has read into its memory.
type Documents interface {
	// Documents lists the documents. If Query.State is "failed", it lists the files that could not
	// be read.
	Documents(ctx context.Context, q Query) ([]Document, error)
	// TrustFile records that the user trusts the current content of a file, or of the files below a
	// folder, as the user's own words.
	TrustFile(ctx context.Context, path string) (TrustedFiles, error)
}

// Document is an ingested document, for lists and exports.
type Document struct {
	ID         string            `json:"id"`
	Title      string            `json:"title"`
	Kind       string            `json:"kind"`
	Source     string            `json:"source"`
	Part       string            `json:"part,omitempty"`
	Author     string            `json:"author,omitempty"`
	Language   string            `json:"language,omitempty"`
	Tags       []string          `json:"tags,omitempty"`
	Folder     string            `json:"folder,omitempty"`
	Realm      string            `json:"realm,omitempty"`
	Provenance provenance.Source `json:"provenance"`
	Chunks     int               `json:"chunks"`
	At         time.Time         `json:"at,omitzero"`
	AddedAt    time.Time         `json:"added_at"`
	// Error is the reason why a file could not be ingested. Such a file has no id.
	Error string `json:"error,omitempty"`
}

// TrustedFiles is the result of TrustFile.
type TrustedFiles struct {
	Path  string `json:"path"`
	Files int    `json:"files"`
	// Left is true if some files were not read because they are too large or too many.
	Left bool `json:"left,omitempty"`
}

// Notes gives access to the user's notes in Hob.
type Notes interface {
	Notes(ctx context.Context, q Query) ([]Note, error)
}

// Note is one stored note.
type Note struct {
	ID         string            `json:"id"`
	Title      string            `json:"title"`
	Text       string            `json:"text"`
	Provenance provenance.Source `json:"provenance"`
	CreatedAt  time.Time         `json:"created_at"`
	UpdatedAt  time.Time         `json:"updated_at"`
}

// Spending gives access to the sums of the expenses that the user logged.
type Spending interface {
	Spending(ctx context.Context) (SpendingOverview, error)
}

// SpendingOverview compares the user's spending by month and category with the budgets.
type SpendingOverview struct {
	// Sums are the sums of the current month and the 11 months before it, newest month first and
	// largest sum first. Amounts in different currencies are never added.
	Sums    []SpendingSum    `json:"sums"`
	Budgets []SpendingBudget `json:"budgets"`
}

// SpendingSum is the spending on one category in one month and one currency.
type SpendingSum struct {
	Month    string `json:"month"` // for example 2026-03
	Category string `json:"category"`
	Currency string `json:"currency"` // ISO 4217 code
	Amount   string `json:"amount"`   // exact decimal
	Count    int    `json:"count"`
}

// SpendingBudget is the state of a budget in its current period. Limit, Spent and Left are exact
// decimals.
type SpendingBudget struct {
	Category string `json:"category"` // "" is all spending
	Period   string `json:"period"`   // day, week, month, quarter or year
	Currency string `json:"currency"`
	Limit    string `json:"limit"`
	Spent    string `json:"spent"`
	Left     string `json:"left"` // negative if the budget is exceeded
	Percent  int64  `json:"percent"`
	State    string `json:"state"` // "ok", "near" from 80 %, or "over"
}

// Canvas gives access to the widgets on the page Today.
type Canvas interface {
	// Widgets lists the widgets, pinned ones first, without their HTML. If Query.Of is set, it
	// returns only that widget, with its HTML.
	Widgets(ctx context.Context, q Query) ([]Widget, error)
}

// ChartHeight is the Height of a chart without a legend. In a frame narrower than 30rem, the chart is
// lower.
const ChartHeight = 258

// Widget is a text, table or chart that Hob shows to the user.
type Widget struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	ContentType string `json:"content_type"` // markdown, html, table, bar or line
	// HTML is the body of the widget. It has no scripts, links, forms or addresses, and must still
	// be shown in a sandboxed frame, because a model may have written it.
	HTML       string            `json:"html,omitempty"`
	Height     int               `json:"height"` // estimated height in pixels
	Pinned     bool              `json:"pinned"`
	Provenance provenance.Source `json:"provenance"`
	CreatedAt  time.Time         `json:"created_at"`
	UpdatedAt  time.Time         `json:"updated_at"`
}

// Tasks gives access to the user's tasks in Hob.
type Tasks interface {
	// Tasks lists the open tasks, and with Query.All also the completed ones.
	Tasks(ctx context.Context, q Query) ([]Task, error)
}

// Task is one stored task.
type Task struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Status string `json:"status"` // open or done
	// Due is a day (2026-03-10), an instant (RFC 3339) or empty.
	Due        string            `json:"due"`
	Priority   string            `json:"priority"` // low, medium, high, critical or empty
	Project    string            `json:"project"`
	Notes      string            `json:"notes"`
	Provenance provenance.Source `json:"provenance"`
	CreatedAt  time.Time         `json:"created_at"`
	UpdatedAt  time.Time         `json:"updated_at"`
	DoneAt     time.Time         `json:"done_at,omitzero"`
}

// Forgetting manages permanent deletions. The tool "forget" starts a deletion.
type Forgetting interface {
	// PreviewErasure returns the data that would be deleted, and changes nothing. Exactly one field
	// selects the data: Query.Of a row, Query.Text a text, Query.State a data source. With
	// Query.All it also includes everything that mentions the data.
	PreviewErasure(ctx context.Context, q Query) ([]ErasurePreview, error)
	// Erasures lists the deletions. If Query.Of is set, it waits until that deletion is complete,
	// but at most 60 s.
	Erasures(ctx context.Context, q Query) ([]Erasure, error)
}

// ErasurePreview describes a planned deletion and its extent.
type ErasurePreview struct {
	ErasurePlan

	// Places is the number of database rows that would be removed or changed, in all tables.
	Places int `json:"places"`
}

// ErasurePlan is a preview of an erasure.
type ErasurePlan struct {
	Facts []Fact `json:"facts,omitempty"` // including the facts that they replaced
	Docs  []Row  `json:"docs,omitempty"`  // other rows that would be removed completely
	// Within maps each kind to the number of rows in docs that would stay but be redacted.
	Within map[string]int `json:"within,omitempty"`
	// Made lists the rows that were created in turns that had read the source. They are kept unless
	// the request names them.
	Made []Row `json:"made,omitempty"`
	// Turns and Calls are the numbers of removed turns and tool calls.
	Turns int `json:"turns,omitempty"`
	Calls int `json:"calls,omitempty"`
}

// Erasure reports the progress of an erasure.
type Erasure struct {
	ID       string `json:"id"`
	State    string `json:"state"`
	Rows     int    `json:"rows"`     // number of rows removed
	Scrubbed int    `json:"scrubbed"` // rows and files that were redacted
	Files    int    `json:"files"`    // number of files removed
	Backups  int    `json:"backups"`  // number of older backups that were replaced by a new one
	// Trouble is the error of the last attempt.
	Trouble string    `json:"trouble,omitempty"`
	BegunAt time.Time `json:"begun_at"`
	EndedAt time.Time `json:"ended_at,omitzero"`
}

// Row is one searchable text, identified by Kind and Ref.
type Row struct {
	Kind       string            `json:"kind"`
	Ref        string            `json:"ref"` // the id in the table that owns the row
	Title      string            `json:"title,omitempty"`
	Text       string            `json:"text"`
	At         time.Time         `json:"at"`
	Provenance provenance.Source `json:"provenance"`
	// Origins lists the sources of the untrusted text in the row. They are stored with the
	// document.
	Origins []provenance.Origin `json:"origins,omitempty"`
	// Realm limits who can find the row, as in Fact; "" means shared data.
	Realm string `json:"realm,omitempty"`
	// Group is the conversation or document that contains the row, and Pos the position in it. Rows
	// in a group with consecutive Pos are adjacent.
	Group string `json:"group,omitempty"`
	Pos   int    `json:"pos,omitempty"`
	// Speaker is the author: "owner", "hob" or a name.
	Speaker string `json:"speaker,omitempty"`
	// Source is the origin of the row, which erasure requests can name: "event:ID", "mail:ID",
	// "file:PATH", "url:URL", "import:NAME".
	Source string `json:"source,omitempty"`
}
