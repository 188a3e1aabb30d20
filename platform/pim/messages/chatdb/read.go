package chatdb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/sorting"
)

func sortedKeys(m map[string]any) []string {
	keys := slices.Sorted(maps.Keys(m))
	sorting.StableByFunc(keys, func(a, b string) int { // sort by number: "10" comes after "9"
		x, errA := strconv.Atoi(a)
		y, errB := strconv.Atoi(b)
		if errA != nil || errB != nil {
			return 0
		}
		return x - y
	})
	return keys
}

// Mark is a position in the list of messages.
type Mark struct {
	RowID int64  `json:"rowid"`
	GUID  string `json:"guid"`
}

// Last returns the newest row and the highest row number that was ever assigned. That number does
// not decrease when the row is deleted.
func (d *DB) Last(ctx context.Context) (last Mark, highest int64, err error) {
	err = d.sql.QueryRowContext(ctx, "SELECT ROWID, CAST(guid AS TEXT) FROM message ORDER BY ROWID DESC LIMIT 1").Scan(&last.RowID, &last.GUID)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Mark{}, 0, d.wrapError(err)
	}
	highest = last.RowID
	if d.columns["sqlite_sequence"]["seq"] {
		var seq sql.NullInt64
		if err := d.sql.QueryRowContext(ctx, "SELECT MAX(CAST(seq AS INTEGER)) FROM sqlite_sequence WHERE name = 'message'").Scan(&seq); err != nil {
			return Mark{}, 0, d.wrapError(err)
		}
		highest = max(highest, seq.Int64)
	}
	return last, highest, nil
}

// GUID returns the guid of a row, or "" if the row does not exist.
func (d *DB) GUID(ctx context.Context, rowID int64) (guid string, err error) {
	err = d.sql.QueryRowContext(ctx, "SELECT CAST(guid AS TEXT) FROM message WHERE ROWID = ?", rowID).Scan(&guid)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return guid, d.wrapError(err)
}

func (d *DB) wrapError(err error) error {
	if err == nil {
		return nil
	}
	return explainError(d.file, err)
}

// columnExpr returns the SQL expression for a column, or a constant if the schema does not have the
// column.
func (d *DB) columnExpr(table, as, name, kind string) string {
	if !d.columns[table][name] {
		return "NULL"
	}
	if kind == "BLOB" {
		return as + "." + name
	}
	return "CAST(" + as + "." + name + " AS " + kind + ")"
}

// maxBlob is the maximum size of a text in bytes. Longer texts cannot be sent, so they are not
// read.
const maxBlob = 4 << 20

// rowsQuery returns the query that reads message rows. It selects only columns that exist.
func (d *DB) rowsQuery() string {
	var cols []string
	add := func(table, as, kind string, names ...string) {
		for _, n := range names {
			cols = append(cols, d.columnExpr(table, as, n, kind))
		}
	}
	add("message", "m", "TEXT", "guid", "text", "service", "group_title", "associated_message_guid", "associated_message_emoji", "balloon_bundle_id", "thread_originator_guid", "destination_caller_id")
	add("message", "m", "INTEGER", "handle_id", "date", "is_from_me", "is_sent", "is_delivered", "error", "item_type", "associated_message_type", "date_edited", "date_retracted")
	for _, blob := range []string{"attributedBody", "message_summary_info"} {
		c := d.columnExpr("message", "m", blob, "BLOB")
		if c != "NULL" {
			c = fmt.Sprintf("CASE WHEN length(%s) <= %d THEN CAST(%s AS BLOB) END", c, maxBlob, c)
		}
		cols = append(cols, c)
	}
	return "SELECT m.ROWID, " + strings.Join(cols, ", ") + " FROM message m WHERE m.ROWID > ? ORDER BY m.ROWID LIMIT ?"
}

// joinedIDs returns the id that is joined to each of the rows, or the highest one if there are
// several. It runs one query for all rows, because not every schema has an index on the join table.
func (d *DB) joinedIDs(ctx context.Context, table, column string, after int64, rows []row) (map[int64]int64, error) {
	out := map[int64]int64{}
	if len(rows) == 0 || !d.columns[table]["message_id"] || !d.columns[table][column] {
		return out, nil
	}
	list, err := d.sql.QueryContext(ctx, "SELECT CAST(message_id AS INTEGER), MAX(CAST("+column+" AS INTEGER)) FROM "+table+" WHERE message_id > ? AND message_id <= ? GROUP BY message_id", after, rows[len(rows)-1].id)
	if err != nil {
		return nil, d.wrapError(err)
	}
	defer list.Close()
	for list.Next() {
		var id, to sql.NullInt64
		if err := list.Scan(&id, &to); err != nil {
			return nil, d.wrapError(err)
		}
		out[id.Int64] = to.Int64
	}
	return out, d.wrapError(list.Err())
}

// row is a row of the query that rowsQuery returns.
type row struct {
	id                                                                         int64
	guid, text, service, title, assocGUID, emoji, balloon, thread, destination sql.NullString
	handle, date, fromMe, sent, delivered, errno, item, assoc, edited, gone    sql.NullInt64
	body, summary                                                              []byte
}

func (r *row) scanTargets() []any {
	return []any{
		&r.id, &r.guid, &r.text, &r.service, &r.title, &r.assocGUID, &r.emoji, &r.balloon, &r.thread, &r.destination,
		&r.handle, &r.date, &r.fromMe, &r.sent, &r.delivered, &r.errno, &r.item, &r.assoc, &r.edited, &r.gone, &r.body, &r.summary,
	}
}

// before is the number of rows before a page that are searched for the message
// that a preview repeats.
const before = 50

// Messages returns up to limit rows that follow row after, in row order. next is the last row that
// was read; it equals after if there are no more rows. Deleted rows and previews that repeat a
// message are omitted.
func (d *DB) Messages(ctx context.Context, after int64, limit int) (out []Message, next int64, err error) {
	return d.readMessages(ctx, after, limit, before)
}

// All works like Messages, but includes previews that repeat a message of an earlier page.
func (d *DB) All(ctx context.Context, after int64, limit int) ([]Message, int64, error) {
	return d.readMessages(ctx, after, limit, 0)
}

func (d *DB) readMessages(ctx context.Context, after int64, limit, before int) (out []Message, next int64, err error) {
	from := max(0, after-int64(before))
	rows, err := d.queryRows(ctx, from, limit+before)
	if err != nil {
		return nil, after, err
	}
	next = after
	files, err := d.loadAttachments(ctx, after, rows)
	if err != nil {
		return nil, after, err
	}
	chats, err := d.joinedIDs(ctx, "chat_message_join", "chat_id", from, rows)
	if err != nil {
		return nil, after, err
	}
	deleted, err := d.joinedIDs(ctx, "chat_recoverable_message_join", "message_id", from, rows)
	if err != nil {
		return nil, after, err
	}
	book, err := d.loadChatIndex(ctx) // load this after the rows, because a message may be the first one from its sender or in its chat
	if err != nil {
		return nil, after, err
	}
	seen := previews{}
	for i := range rows {
		if _, gone := deleted[rows[i].id]; gone {
			next = max(next, rows[i].id)
			continue
		}
		m := rows[i].toMessage(book, chats[rows[i].id])
		double := seen.isDuplicate(m)
		if m.RowID <= after {
			continue
		}
		next = m.RowID
		if double {
			continue
		}
		m.Files = files[m.RowID]
		if m.Missing = max(0, m.Missing-len(m.Files)); m.Kind != Plain || m.Balloon != "" {
			m.Missing = 0
		}
		out = append(out, m)
	}
	return out, next, nil
}

func (d *DB) queryRows(ctx context.Context, after int64, limit int) ([]row, error) {
	list, err := d.sql.QueryContext(ctx, d.rowsQuery(), after, limit)
	if err != nil {
		return nil, d.wrapError(err)
	}
	defer list.Close()
	var out []row
	for list.Next() {
		var r row
		if err := list.Scan(r.scanTargets()...); err != nil {
			return nil, d.wrapError(err)
		}
		out = append(out, r)
	}
	return out, d.wrapError(list.Err())
}

// toMessage converts a row to a Message.
func (r *row) toMessage(b *chatIndex, chat int64) Message {
	m := Message{
		RowID: r.id, GUID: r.guid.String, FromMe: r.fromMe.Int64 != 0, At: parseDate(r.date.Int64), Kind: Plain, Chat: b.chats[chat],
		Service: r.service.String, Balloon: r.balloon.String, ReplyTo: parseTarget(r.thread.String), Sent: r.sent.Int64 != 0, Delivered: r.delivered.Int64 != 0, Error: r.errno.Int64,
		Caller: parseAccount(r.destination.String),
	}
	h := b.handles[r.handle.Int64]
	m.Handle = h.id
	switch {
	case m.FromMe:
	case h.id != "":
		m.Sender, m.Person = h.id, h.person
	case m.Chat != nil && !m.Chat.Group:
		m.Sender = m.Chat.Key()
		m.Person = m.Sender
	}
	s := parseSummary(r.summary)
	r.decodeText(&m, s)
	name, removed, is := reactionName(r.assoc.Int64, r.emoji.String)
	switch {
	case r.item.Int64 != 0:
		m.Kind = Event
		if m.Text == "" {
			m.Text = stripPlaceholders(r.title.String)
		}
	case is:
		m.Kind, m.ReplyTo, m.Reaction, m.Removed = Tapback, parseTarget(r.assocGUID.String), name, removed
		if m.Text == "" {
			m.Text = name
		}
	case s.isRetracted(m.Text) || r.gone.Int64 != 0 && (m.Text == "" || s.retracted == 0):
		m.Kind = Unsent
	case r.edited.Int64 != 0 || s.edited:
		m.Kind = Edit
	case m.Balloon != "" && m.Balloon != urlBalloon:
		m.Kind = App
	}
	return m
}

// maxPreview is the maximum time between a message and its preview.
const maxPreview = 90 * time.Second

// previews records messages that may contain links, because Messages may store the preview of a
// link as a second row with the same text.
type previews map[string][]Message

func (p previews) isDuplicate(m Message) bool {
	if m.Text == "" || m.Kind != Plain || !strings.Contains(m.Text, ".") {
		return false
	}
	key := m.Sender + "\x00" + m.Text
	if m.FromMe {
		key = "\x00" + key
	}
	if m.Chat != nil {
		key = m.Chat.Key() + "\x00" + key
	}
	for _, old := range p[key] {
		if apart := m.At.Sub(old.At).Abs(); apart <= maxPreview && m.Balloon != old.Balloon {
			return true
		}
	}
	p[key] = append(p[key], m)
	return false
}

// sortChats sorts chats by their last message, newest first.
func sortChats(list []Chat, last map[int64]int64) {
	sorting.ByFunc(list, func(a, b Chat) int {
		return cmp.Or(cmp.Compare(last[b.ID], last[a.ID]), cmp.Compare(b.ID, a.ID))
	})
}
