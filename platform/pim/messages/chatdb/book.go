package chatdb

import (
	"context"
	"database/sql"
	"path"
	"strings"

	"golang.org/x/text/unicode/norm"

	"hob/platform/pim/messages/typedstream"
)

// decodeText sets the text of m, and how reliable it is, from the columns of the row.
func (r *row) decodeText(m *Message, s summary) {
	m.Text, m.Missing = stripPlaceholders(r.text.String), strings.Count(r.text.String, place)
	edited := r.edited.Int64 != 0 || s.edited
	if len(r.body) == 0 {
		if m.Text != "" && !edited {
			return
		}
		if s.last != "" && s.retracted == 0 && (m.Text == "" || s.parts <= 1) {
			m.Text = stripPlaceholders(s.last)
		}
		return
	}
	t, err := typedstream.Decode(r.body)
	m.Missing = max(m.Missing, strings.Count(t.Text, place))
	switch {
	case err == nil && m.Text != "" && !edited:
		// If the two columns differ, Messages shows attributedBody, the newer one.
		if shown := stripPlaceholders(t.Text); !t.Approximate && norm.NFC.String(strings.TrimSpace(shown)) != norm.NFC.String(strings.TrimSpace(m.Text)) {
			m.Text, m.Approximate = shown, true
		}
	case err == nil && (m.Text == "" || !t.Approximate):
		m.Text, m.Approximate = stripPlaceholders(t.Text), t.Approximate
	case err != nil && m.Text == "" && s.last != "":
		m.Text = stripPlaceholders(s.last)
	case err != nil && m.Text == "" && r.text.String == "":
		m.Undecodable = true
	}
}

// chatIndex contains the known people and chats by their row numbers.
type chatIndex struct {
	chats   map[int64]*Chat
	handles map[int64]handle
}

type handle struct{ id, person string }

func (d *DB) loadChatIndex(ctx context.Context) (*chatIndex, error) {
	b := &chatIndex{handles: map[int64]handle{}}
	var err error
	if b.chats, err = d.loadChats(ctx); err != nil {
		return nil, err
	}
	if len(d.columns["handle"]) == 0 {
		return b, nil
	}
	rows, err := d.sql.QueryContext(ctx, "SELECT h.ROWID, "+d.columnExpr("handle", "h", "id", "TEXT")+", "+d.columnExpr("handle", "h", "country", "TEXT")+", "+d.columnExpr("handle", "h", "person_centric_id", "TEXT")+" FROM handle h ORDER BY h.ROWID")
	if err != nil {
		return nil, d.wrapError(err)
	}
	defer rows.Close()
	first := map[string]string{}
	for rows.Next() {
		var id int64
		var name, country, person sql.NullString
		if err := rows.Scan(&id, &name, &country, &person); err != nil {
			return nil, d.wrapError(err)
		}
		h := handle{id: Handle(name.String, country.String)}
		h.person = h.id
		if person.String != "" {
			if first[person.String] == "" {
				first[person.String] = h.id
			}
			h.person = first[person.String]
		}
		b.handles[id] = h
	}
	return b, d.wrapError(rows.Err())
}

func (d *DB) loadChats(ctx context.Context) (map[int64]*Chat, error) {
	out := map[int64]*Chat{}
	if len(d.columns["chat"]) == 0 {
		return out, nil
	}
	var cols []string
	for _, c := range []string{"guid", "chat_identifier", "display_name", "service_name", "account_login", "last_addressed_handle"} {
		cols = append(cols, d.columnExpr("chat", "c", c, "TEXT"))
	}
	rows, err := d.sql.QueryContext(ctx, "SELECT c.ROWID, "+d.columnExpr("chat", "c", "style", "INTEGER")+", "+strings.Join(cols, ", ")+" FROM chat c")
	if err != nil {
		return nil, d.wrapError(err)
	}
	defer rows.Close()
	for rows.Next() {
		var c Chat
		var style sql.NullInt64
		var guid, ident, name, service, login, addressed sql.NullString
		if err := rows.Scan(&c.ID, &style, &guid, &ident, &name, &service, &login, &addressed); err != nil {
			return nil, d.wrapError(err)
		}
		c.GUID, c.Identifier, c.Name, c.Service = guid.String, ident.String, name.String, service.String
		if c.Identifier == "" {
			c.Identifier = c.GUID[strings.LastIndexByte(c.GUID, ';')+1:]
		}
		c.Group = isGroupChat(style.Int64, c.GUID)
		c.Login, c.Addressed = parseAccount(login.String), parseAccount(addressed.String)
		out[c.ID] = &c
	}
	return out, d.wrapError(rows.Err())
}

// loadAttachments returns the attachments of rows, all of which come after the row number after.
// Each list is in insertion order. It omits hidden attachments and the data files of link previews
// and apps.
func (d *DB) loadAttachments(ctx context.Context, after int64, rows []row) (map[int64][]Attachment, error) {
	out := map[int64][]Attachment{}
	if len(rows) == 0 || !d.columns["message_attachment_join"]["attachment_id"] || len(d.columns["attachment"]) == 0 {
		return out, nil
	}
	var cols []string
	for _, c := range []string{"guid", "filename", "mime_type", "transfer_name"} {
		cols = append(cols, d.columnExpr("attachment", "a", c, "TEXT"))
	}
	for _, c := range []string{"total_bytes", "hide_attachment"} {
		cols = append(cols, d.columnExpr("attachment", "a", c, "INTEGER"))
	}
	list, err := d.sql.QueryContext(ctx, "SELECT j.message_id, "+strings.Join(cols, ", ")+" FROM message_attachment_join j JOIN attachment a ON a.ROWID = j.attachment_id WHERE j.message_id > ? AND j.message_id <= ? ORDER BY j.message_id, a.ROWID", after, rows[len(rows)-1].id)
	if err != nil {
		return nil, d.wrapError(err)
	}
	defer list.Close()
	for list.Next() {
		var id int64
		var guid, file, mime, name sql.NullString
		var size, hidden sql.NullInt64
		if err := list.Scan(&id, &guid, &file, &mime, &name, &size, &hidden); err != nil {
			return nil, d.wrapError(err)
		}
		a := Attachment{GUID: guid.String, Name: name.String, Path: file.String, MIME: mime.String, Size: size.Int64}
		if a.Name == "" && a.Path != "" {
			a.Name = path.Base(a.Path)
		}
		if hidden.Int64 == 0 && !strings.HasSuffix(a.Path, ".pluginPayloadAttachment") {
			out[id] = append(out[id], a)
		}
	}
	return out, d.wrapError(list.Err())
}

// recent is the number of newest rows that are searched for the user's own
// addresses.
const recent = 2000

// Own returns the user's own addresses in Messages, as far as they occur in recent chats.
func (d *DB) Own(ctx context.Context) (map[string]bool, error) {
	chats, err := d.loadChats(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, c := range chats {
		out[c.Login], out[c.Addressed] = true, true
	}
	if d.columns["message"]["destination_caller_id"] {
		rows, err := d.sql.QueryContext(ctx, "SELECT DISTINCT CAST(destination_caller_id AS TEXT) FROM message WHERE ROWID > (SELECT MAX(ROWID) FROM message) - ? AND destination_caller_id IS NOT NULL", recent)
		if err != nil {
			return nil, d.wrapError(err)
		}
		defer rows.Close()
		for rows.Next() {
			var s string
			if err := rows.Scan(&s); err != nil {
				return nil, d.wrapError(err)
			}
			out[parseAccount(s)] = true
		}
		if err := rows.Err(); err != nil {
			return nil, d.wrapError(err)
		}
	}
	delete(out, "")
	return out, nil
}

// Find returns the chats whose key, guid or identifier equals chat, most recently used first.
func (d *DB) Find(ctx context.Context, chat string) ([]Chat, error) {
	all, err := d.loadChats(ctx)
	if err != nil {
		return nil, err
	}
	var out []Chat
	last := map[int64]int64{}
	for _, c := range all {
		if c.Key() != chat && c.GUID != chat && c.Identifier != chat {
			continue
		}
		var id sql.NullInt64
		if d.columns["chat_message_join"]["chat_id"] {
			if err := d.sql.QueryRowContext(ctx, "SELECT MAX(CAST(message_id AS INTEGER)) FROM chat_message_join WHERE chat_id = ?", c.ID).Scan(&id); err != nil {
				return nil, d.wrapError(err)
			}
		}
		last[c.ID] = id.Int64
		out = append(out, *c)
	}
	sortChats(out, last)
	return out, nil
}
