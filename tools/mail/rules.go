package mail

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/erase"
	"hob/platform/text/textnorm"
)

// Migrations returns the tables of this package.
func Migrations() []store.MigrationSet {
	return []store.MigrationSet{{Owner: "mail", Steps: []string{`
CREATE TABLE mail_rules (
	id TEXT PRIMARY KEY,
	account TEXT NOT NULL, -- '' means all accounts
	sender TEXT NOT NULL, subject TEXT NOT NULL, list TEXT NOT NULL, -- conditions; '' matches every email
	action TEXT NOT NULL, folder TEXT NOT NULL,
	applied INTEGER NOT NULL DEFAULT 0, applied_at INTEGER NOT NULL DEFAULT 0,
	error TEXT NOT NULL DEFAULT '', -- why the rule cannot be applied
	provenance TEXT NOT NULL, created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE mail_rule_uses (
	rule TEXT NOT NULL, at INTEGER NOT NULL,
	email TEXT NOT NULL, -- sender and subject
	place TEXT NOT NULL, -- id of the email after a move, '' if it is unknown
	mail BLOB NOT NULL   -- digest that identifies the email
);
CREATE INDEX mail_rule_uses_rule ON mail_rule_uses (rule, at);
CREATE TABLE mail_rule_cursors (
	account TEXT PRIMARY KEY,
	validity INTEGER NOT NULL, next INTEGER NOT NULL -- the next UID of the inbox
) WITHOUT ROWID;`}}}
}

// Eraser returns the eraser for the rules. A rule whose condition contains a phrase is deleted.
func Eraser() erase.Eraser {
	return erase.Owned{
		List: []erase.Table{
			{Name: "mail_rules", Key: []string{"id"}, Names: []string{"sender", "subject", "list", "folder"}, Text: []string{"error"}},
			{Name: "mail_rule_uses", Names: []string{"email"}},
		},
		Besides: []string{"mail_rule_cursors"},
	}
}

// The actions of a rule.
const (
	actMove = "move"
	actRead = "mark_read"
	actFlag = "flag"
)

// mailRule is a rule for arriving messages. A message must meet all conditions that are set.
type mailRule struct {
	ID         string            `json:"id"`
	Account    string            `json:"account,omitempty"` // "" means all accounts
	From       string            `json:"from,omitempty"`    // address, domain or words of the sender's name
	Subject    string            `json:"subject,omitempty"` // words of the subject
	List       string            `json:"list,omitempty"`    // mailing list
	Action     string            `json:"action"`
	Folder     string            `json:"folder,omitempty"` // for the action move
	Applied    int               `json:"applied"`
	AppliedAt  time.Time         `json:"applied_at,omitzero"`
	Error      string            `json:"error,omitempty"` // why the rule cannot be applied
	Provenance provenance.Source `json:"provenance"`
	CreatedAt  time.Time         `json:"created_at"`
	Uses       []ruleUse         `json:"uses,omitempty"` // newest first
}

// ruleUse is one message to which a rule was applied. Its text is untrusted.
type ruleUse struct {
	At    time.Time `json:"at"`
	Email string    `json:"email"`
	ID    string    `json:"email_id,omitempty"` // for the other tools

	mail []byte // digest that identifies the message
}

// mailDigest identifies a message, also after it was moved to another folder.
func mailDigest(m pim.Message) []byte {
	id := m.ID
	if id == "" {
		id = fmt.Sprintf("%s\x00%s\x00%d\x00%d", senderLabel(m), m.Subject, m.Date.Unix(), m.Size)
	}
	sum := sha256.Sum256([]byte(id))
	return sum[:16]
}

// describeRule describes a rule: "emails from shop.example about sale: move to archive".
func (r mailRule) describeRule() string {
	var b strings.Builder
	b.WriteString("emails")
	for _, x := range []struct{ word, value string }{{" from ", r.From}, {" of the list ", r.List}, {" about ", r.Subject}} {
		if x.value != "" {
			b.WriteString(x.word + x.value)
		}
	}
	if r.Account != "" {
		b.WriteString(" in " + r.Account)
	}
	switch r.Action {
	case actMove:
		b.WriteString(": move to " + r.Folder)
	case actRead:
		b.WriteString(": mark as read")
	default:
		b.WriteString(": flag")
	}
	return b.String()
}

// isMatch reports whether a message meets the conditions and arrived after the rule was created.
func (r mailRule) isMatch(m pim.Message) bool {
	switch {
	case m.Received.Before(r.CreatedAt.Truncate(time.Second)): // servers round the time of arrival down to seconds
		return false
	case r.From != "" && (len(m.From) == 0 || !m.From[0].Matches(r.From)):
		return false
	case r.List != "" && !strings.EqualFold(m.List, r.List):
		return false
	}
	return r.Subject == "" || textnorm.ContainsAllWords(m.Subject, textnorm.FoldedWords(r.Subject))
}

// Rules stores the rules for arriving messages and applies them.
type Rules struct {
	opt     RulesOptions
	changed chan struct{} // receives a value after a change of the rules; capacity 1
}

// RulesOptions are the options of NewRules.
type RulesOptions struct {
	Store *store.Store
	// Accounts returns the accounts with IMAP.
	Accounts func() []pim.Account
	// Log may be nil.
	Log *slog.Logger
}

// PauseState returns the end of the user's pause of background work, and whether it is on.
type PauseState func(ctx context.Context) (until time.Time, on bool, err error)

// NewRules returns the rules.
func NewRules(o RulesOptions) *Rules {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Rules{opt: o, changed: make(chan struct{}, 1)}
}

// announceAfterCommit makes Run read the rules again.
func (r *Rules) announceAfterCommit(tx *store.Tx) {
	tx.AfterCommit(func() {
		select {
		case r.changed <- struct{}{}:
		default:
		}
	})
}

const ruleColumns = `id, account, sender, subject, list, action, folder, applied, applied_at, error, provenance, created_at`

func queryRules(q store.Querier) (out []mailRule, err error) {
	rows, err := q.Query(`SELECT ` + ruleColumns + ` FROM mail_rules ORDER BY created_at, id`)
	if err != nil {
		return nil, fmt.Errorf("mail: read rules: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var r mailRule
		var applied, created int64
		if err := rows.Scan(&r.ID, &r.Account, &r.From, &r.Subject, &r.List, &r.Action, &r.Folder, &r.Applied, &applied, &r.Error, (*string)(&r.Provenance), &created); err != nil {
			return nil, fmt.Errorf("mail: read rules: %w", err)
		}
		r.AppliedAt, r.CreatedAt = store.Time(applied), store.Time(created)
		out = append(out, r)
	}
	return out, rows.Err()
}

// insertRule saves a rule. It reports whether there was none with this id.
func insertRule(tx *store.Tx, r mailRule) (added bool, err error) {
	res, err := tx.Exec(`INSERT INTO mail_rules (`+ruleColumns+`) VALUES (?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING`, r.ID, r.Account, r.From, r.Subject, r.List, r.Action, r.Folder,
		r.Applied, store.Millis(r.AppliedAt), r.Error, string(r.Provenance), store.Millis(r.CreatedAt))
	if err != nil {
		return false, fmt.Errorf("mail: save rule: %w", err)
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

// deleteRule deletes a rule. found is false if it does not exist.
func deleteRule(tx *store.Tx, id string) (found bool, err error) {
	res, err := tx.Exec(`DELETE FROM mail_rules WHERE id = ?`, id)
	if err == nil {
		_, err = tx.Exec(`DELETE FROM mail_rule_uses WHERE rule = ?`, id)
	}
	if err != nil {
		return false, fmt.Errorf("mail: delete rule: %w", err)
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

// keptUses is the number of stored uses of a rule.
const keptUses = 500

// wasUsed reports whether a rule was applied to a message: if the user moves it back to the inbox,
// it stays there.
func (r *Rules) wasUsed(ctx context.Context, rule string, mail []byte) (used bool, err error) {
	err = r.opt.Store.Reader(ctx).QueryRow(`SELECT EXISTS (SELECT 1 FROM mail_rule_uses WHERE rule = ? AND mail = ?)`, rule, mail).Scan(&used)
	if err != nil {
		err = fmt.Errorf("mail: read uses of a rule: %w", err)
	}
	return used, err
}

// recordUse counts the use of a rule.
func recordUse(tx *store.Tx, rule string, u ruleUse) error {
	_, err := tx.Exec(`UPDATE mail_rules SET applied = applied + 1, applied_at = ?, error = '' WHERE id = ?`, store.Millis(u.At), rule)
	if err == nil {
		_, err = tx.Exec(`INSERT INTO mail_rule_uses (rule, at, email, place, mail) VALUES (?,?,?,?,?)`, rule, store.Millis(u.At), u.Email, u.ID, u.mail)
	}
	if err == nil {
		_, err = tx.Exec(`DELETE FROM mail_rule_uses WHERE rule = ? AND rowid NOT IN (SELECT rowid FROM mail_rule_uses WHERE rule = ? ORDER BY at DESC, rowid DESC LIMIT ?)`, rule, rule, keptUses)
	}
	if err != nil {
		return fmt.Errorf("mail: record use of a rule: %w", err)
	}
	return nil
}

// queryUses returns the last uses of a rule, newest first.
func queryUses(q store.Querier, rule string, most int) (out []ruleUse, err error) {
	rows, err := q.Query(`SELECT at, email, place FROM mail_rule_uses WHERE rule = ? ORDER BY at DESC, rowid DESC LIMIT ?`, rule, most)
	if err != nil {
		return nil, fmt.Errorf("mail: read uses of a rule: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var u ruleUse
		var at int64
		if err := rows.Scan(&at, &u.Email, &u.ID); err != nil {
			return nil, fmt.Errorf("mail: read uses of a rule: %w", err)
		}
		u.At = store.Time(at)
		out = append(out, u)
	}
	return out, rows.Err()
}

// inboxCursor is the position up to which the rules were applied to an inbox.
type inboxCursor struct{ validity, next uint32 }

func (r *Rules) loadCursor(ctx context.Context, account string) (at inboxCursor, err error) {
	err = r.opt.Store.Reader(ctx).QueryRow(`SELECT validity, next FROM mail_rule_cursors WHERE account = ?`, account).Scan(&at.validity, &at.next)
	if errors.Is(err, sql.ErrNoRows) {
		return at, nil
	}
	return at, err
}

func saveCursor(tx *store.Tx, account string, at inboxCursor) error {
	_, err := tx.Exec(`INSERT INTO mail_rule_cursors VALUES (?,?,?) ON CONFLICT (account) DO UPDATE SET validity = excluded.validity, next = excluded.next`, account, at.validity, at.next)
	if err != nil {
		return fmt.Errorf("mail: save the position of the rules: %w", err)
	}
	return nil
}
