// Package chatdbtest writes databases as Messages does, for tests. It contains the schemas of
// several macOS versions, as documented by imessage-exporter (docs/tables), archived texts, and
// property lists of edits.
package chatdbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver, registered as "sqlite"
)

// Version is a macOS version, described by its schema.
type Version struct {
	Name    string
	Seconds bool // dates are in seconds instead of nanoseconds
	// Blob is true if texts are stored only in attributedBody.
	Blob   bool
	Prefix string // prefix of the guids of new chats; "" means the name of the service
	gone   []string
}

// The columns that older versions lack.
var (
	since26   = []string{"message.is_sos", "message.schedule_type", "message.schedule_state"}
	sinceEdit = []string{"message.date_edited", "message.date_retracted", "message.was_detonated", "chat_recoverable_message_join"}
	sinceRply = []string{"message.thread_originator_guid", "message.thread_originator_part"}
	sinceEmo  = []string{"message.associated_message_emoji"}
	sinceJoin = []string{"chat_message_join.message_date", "message.destination_caller_id", "handle.person_centric_id", "attachment.hide_attachment", "chat.last_addressed_handle"}
	sinceBlob = []string{"message.message_summary_info", "message.balloon_bundle_id", "message.associated_message_guid", "message.associated_message_type"}
)

// Versions returns the schemas from macOS 10.12 on.
func Versions() []Version {
	return []Version{
		{Name: "10.11", Seconds: true, gone: slices.Concat(since26, sinceEmo, sinceEdit, sinceRply, sinceJoin, sinceBlob)},
		{Name: "10.12", Seconds: true, gone: slices.Concat(since26, sinceEmo, sinceEdit, sinceRply, sinceJoin)},
		{Name: "10.13", gone: slices.Concat(since26, sinceEmo, sinceEdit, sinceRply, []string{"handle.person_centric_id"})},
		{Name: "10.15", gone: slices.Concat(since26, sinceEmo, sinceEdit, sinceRply)},
		{Name: "11", gone: slices.Concat(since26, sinceEmo, sinceEdit)},
		{Name: "12", gone: slices.Concat(since26, sinceEmo, sinceEdit)},
		{Name: "13", Blob: true, gone: slices.Concat(since26, sinceEmo)},
		{Name: "14", Blob: true, gone: slices.Concat(since26, sinceEmo)},
		{Name: "15", Blob: true, gone: since26},
		{Name: "26", Blob: true, Prefix: "any"},
	}
}

// Newest returns the newest schema.
func Newest() Version { v := Versions(); return v[len(v)-1] }

var tables = map[string]string{
	"message":                       "ROWID INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT UNIQUE NOT NULL, text TEXT, replace INTEGER DEFAULT 0, handle_id INTEGER DEFAULT 0, subject TEXT, attributedBody BLOB, version INTEGER DEFAULT 0, service TEXT, account TEXT, error INTEGER DEFAULT 0, date INTEGER, date_read INTEGER, date_delivered INTEGER, is_delivered INTEGER DEFAULT 0, is_from_me INTEGER DEFAULT 0, is_read INTEGER DEFAULT 0, is_sent INTEGER DEFAULT 0, cache_has_attachments INTEGER DEFAULT 0, is_audio_message INTEGER DEFAULT 0, item_type INTEGER DEFAULT 0, other_handle INTEGER DEFAULT 0, group_title TEXT, group_action_type INTEGER DEFAULT 0, associated_message_guid TEXT, associated_message_type INTEGER DEFAULT 0, balloon_bundle_id TEXT, payload_data BLOB, destination_caller_id TEXT, message_summary_info BLOB, thread_originator_guid TEXT, thread_originator_part TEXT, date_retracted INTEGER, date_edited INTEGER, was_detonated INTEGER DEFAULT 0, associated_message_emoji TEXT, is_sos INTEGER DEFAULT 0, schedule_type INTEGER DEFAULT 0, schedule_state INTEGER DEFAULT 0",
	"handle":                        "ROWID INTEGER PRIMARY KEY AUTOINCREMENT UNIQUE, id TEXT NOT NULL, country TEXT, service TEXT NOT NULL, uncanonicalized_id TEXT, person_centric_id TEXT, UNIQUE (id, service)",
	"chat":                          "ROWID INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT UNIQUE NOT NULL, style INTEGER, state INTEGER, account_id TEXT, chat_identifier TEXT, service_name TEXT, room_name TEXT, account_login TEXT, is_archived INTEGER DEFAULT 0, last_addressed_handle TEXT, display_name TEXT, group_id TEXT, is_filtered INTEGER DEFAULT 0",
	"attachment":                    "ROWID INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT UNIQUE NOT NULL, created_date INTEGER DEFAULT 0, filename TEXT, uti TEXT, mime_type TEXT, transfer_state INTEGER DEFAULT 0, is_outgoing INTEGER DEFAULT 0, transfer_name TEXT, total_bytes INTEGER DEFAULT 0, hide_attachment INTEGER DEFAULT 0",
	"chat_message_join":             "chat_id INTEGER, message_id INTEGER, message_date INTEGER DEFAULT 0, PRIMARY KEY (chat_id, message_id)",
	"chat_handle_join":              "chat_id INTEGER, handle_id INTEGER, UNIQUE(chat_id, handle_id)",
	"message_attachment_join":       "message_id INTEGER, attachment_id INTEGER, UNIQUE(message_id, attachment_id)",
	"chat_recoverable_message_join": "chat_id INTEGER, message_id INTEGER, delete_date INTEGER, PRIMARY KEY (chat_id, message_id)",
}

// DB is a database to which a test writes as Messages does: in WAL mode, with new rows in the log.
// Its methods may be called concurrently.
type DB struct {
	File    string
	Version Version
	t       testing.TB
	sql     *sql.DB

	write sync.Mutex // held during a transaction, because only one can run at a time

	mu  sync.Mutex
	has map[string]bool // keyed by "table.column"
	n   int
}

// New creates an empty database within dir, in the folder structure of a Mac. It
// stays open until the test ends.
func New(t testing.TB, file string, v Version) *DB {
	t.Helper()
	d := Reopen(t, file, v)
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		if cols := d.tableColumns(name); len(cols) > 0 {
			d.Exec("CREATE TABLE " + name + " (" + strings.Join(cols, ", ") + ")")
		}
	}
	return d
}

// Reopen opens a database that New created.
func Reopen(t testing.TB, file string, v Version) *DB {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:"+filepath.ToSlash(file)+"?_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_pragma=wal_autocheckpoint(0)&_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(1)
	d := &DB{File: file, Version: v, t: t, sql: pool, has: map[string]bool{}}
	t.Cleanup(func() { _ = pool.Close() })
	for name := range tables {
		d.tableColumns(name)
	}
	return d
}

// tableColumns returns the columns of a table in this version.
func (d *DB) tableColumns(name string) (cols []string) {
	if slices.Contains(d.Version.gone, name) {
		return nil
	}
	for c := range strings.SplitSeq(tables[name], ", ") {
		word, _, _ := strings.Cut(c, " ")
		if !slices.Contains(d.Version.gone, name+"."+word) {
			cols = append(cols, c)
			d.has[name+"."+word] = true
		}
	}
	return cols
}

// Update simulates a macOS update: it adds columns and tables and rewrites the
// chats' guids.
func (d *DB) Update(v Version) {
	d.t.Helper()
	d.Version = v
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		if slices.Contains(v.gone, name) {
			continue
		}
		there := d.Int("SELECT count(*) FROM sqlite_schema WHERE name = ?", name) > 0
		if !there {
			d.Exec("CREATE TABLE " + name + " (" + tables[name] + ")")
		}
		for c := range strings.SplitSeq(tables[name], ", ") {
			word, _, _ := strings.Cut(c, " ")
			if slices.Contains(v.gone, name+"."+word) || d.has[name+"."+word] {
				continue
			}
			if there {
				d.Exec("ALTER TABLE " + name + " ADD COLUMN " + c)
			}
			d.has[name+"."+word] = true
		}
	}
	if v.Prefix != "" {
		d.Exec("UPDATE chat SET guid = ? || substr(guid, instr(guid, ';'))", v.Prefix)
	}
}

// Close moves the log's content into the file. No more rows can be written.
func (d *DB) Close() {
	d.t.Helper()
	if err := d.sql.Close(); err != nil {
		d.t.Fatal(err)
	}
}

// Exec runs a statement.
func (d *DB) Exec(q string, args ...any) int64 {
	d.t.Helper()
	r, err := d.sql.ExecContext(context.Background(), q, args...)
	if err != nil {
		d.t.Fatalf("%s: %v", q, err)
	}
	id, err := r.LastInsertId()
	if err != nil {
		d.t.Fatal(err)
	}
	return id
}

// Put inserts a row. It omits values for which the version has no column.
func (d *DB) Put(table string, values map[string]any) int64 {
	d.t.Helper()
	var cols, marks []string
	var args []any
	for _, c := range slices.Sorted(maps.Keys(values)) {
		if c == "ROWID" || d.has[table+"."+c] {
			cols, marks, args = append(cols, c), append(marks, "?"), append(args, values[c])
		}
	}
	return d.Exec("INSERT INTO "+table+" ("+strings.Join(cols, ", ")+") VALUES ("+strings.Join(marks, ", ")+")", args...)
}

// Has reports whether the version has a column ("message.date_edited").
func (d *DB) Has(column string) bool { return d.has[column] }

// Date returns a time in this version's date format.
func (d *DB) Date(at time.Time) int64 {
	if d.Version.Seconds {
		return at.Unix() - 978_307_200
	}
	return at.UnixNano() - 978_307_200*1_000_000_000
}

// Handle returns the row number of an address, and inserts the row if it does not exist.
func (d *DB) Handle(id, service string) int64 {
	d.t.Helper()
	d.Exec("INSERT OR IGNORE INTO handle (id, service) VALUES (?, ?)", id, service)
	return d.Int("SELECT ROWID FROM handle WHERE id = ? AND service = ?", id, service)
}

// Int reads a number. It returns 0 if there is no row.
func (d *DB) Int(q string, args ...any) int64 {
	d.t.Helper()
	var n sql.NullInt64
	if err := d.sql.QueryRowContext(context.Background(), q, args...).Scan(&n); err != nil && !errors.Is(err, sql.ErrNoRows) {
		d.t.Fatalf("%s: %v", q, err)
	}
	return n.Int64
}

// Chat returns the row number of the chat with an address or, for a group, an identifier. It
// inserts the chat if it does not exist.
func (d *DB) Chat(ident, service string, group bool, members ...string) int64 {
	d.t.Helper()
	if id := d.Int("SELECT ROWID FROM chat WHERE chat_identifier = ? AND service_name = ?", ident, service); id != 0 {
		return id
	}
	prefix, sign, style := d.Version.Prefix, ";-;", 45
	if prefix == "" {
		prefix = service
	}
	if group {
		sign, style = ";+;", 43
	}
	id := d.Put("chat", map[string]any{"guid": prefix + sign + ident, "style": style, "chat_identifier": ident, "service_name": service})
	if !group {
		members = []string{ident}
	}
	for _, m := range members {
		d.Put("chat_handle_join", map[string]any{"chat_id": id, "handle_id": d.Handle(m, service)})
	}
	return id
}

// Message is a row to insert. Zero fields get typical values.
type Message struct {
	GUID, Text string
	Chat       int64  // 0 if the message belongs to no chat
	From       string // "" for the owner
	Service    string // default iMessage
	At         time.Time
	Values     map[string]any // further columns
	Files      []map[string]any
}

// Say writes a message and returns its row number and guid.
func (d *DB) Say(m Message) (int64, string) {
	d.t.Helper()
	d.mu.Lock()
	d.n++
	n := d.n
	d.mu.Unlock()
	if m.GUID == "" {
		m.GUID = fmt.Sprintf("%08X-0000-4000-8000-%012X", n, n)
	}
	if m.Service == "" {
		m.Service = "iMessage"
	}
	d.write.Lock()
	defer d.write.Unlock()
	d.Exec("BEGIN") // all rows of the message become visible at once
	defer d.Exec("COMMIT")
	v := map[string]any{"guid": m.GUID, "service": m.Service, "date": d.Date(m.At), "is_from_me": m.From == ""}
	if m.From != "" {
		v["handle_id"] = d.Handle(m.From, m.Service)
	}
	if m.Text != "" {
		v["attributedBody"] = Archive(m.Text, n%2 == 0)
		if !d.Version.Blob {
			v["text"] = m.Text
		}
	}
	if len(m.Files) > 0 {
		v["cache_has_attachments"] = 1
	}
	maps.Copy(v, m.Values)
	id := d.Put("message", v)
	if m.Chat != 0 {
		d.Put("chat_message_join", map[string]any{"chat_id": m.Chat, "message_id": id, "message_date": v["date"]})
	}
	for i, f := range m.Files {
		f = maps.Clone(f)
		f["guid"] = fmt.Sprintf("at_%d_%s", i, m.GUID)
		d.Put("message_attachment_join", map[string]any{"message_id": id, "attachment_id": d.Put("attachment", f)})
	}
	return id, m.GUID
}

// Edited returns the message_summary_info of a message whose parts had the given versions.
func Edited(parts ...[]string) []byte {
	ranges, versions := map[string]any{}, map[string]any{}
	for i, texts := range parts {
		key := fmt.Sprint(i)
		ranges[key] = map[string]any{"lo": 0, "le": 5}
		var list []any
		for j, s := range texts {
			list = append(list, map[string]any{"t": Archive(s, true), "d": 700_000_000.0 + float64(j)})
		}
		versions[key] = list
	}
	return Plist(map[string]any{"otr": ranges, "ec": versions, "ust": true})
}

// Retracted returns the message_summary_info of a message with n parts, of which those listed in
// gone were retracted.
func Retracted(parts int, gone ...int) []byte {
	ranges := map[string]any{}
	for i := range parts {
		ranges[fmt.Sprint(i)] = map[string]any{"lo": i, "le": 1}
	}
	var list []any
	for _, i := range gone {
		list = append(list, i)
	}
	return Plist(map[string]any{"otr": ranges, "rp": list, "ust": true})
}
