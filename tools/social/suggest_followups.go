package social

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/erase"
	"hob/platform/text/dateparse"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Migrations returns the tables of this package.
func Migrations() []store.MigrationSet {
	return []store.MigrationSet{{Owner: "social", Steps: []string{`
CREATE TABLE followups (
	id TEXT PRIMARY KEY, person TEXT NOT NULL, reason TEXT NOT NULL, due TEXT NOT NULL, provenance TEXT NOT NULL,
	created_at INTEGER NOT NULL, done_at INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
`}}}
}

// Eraser returns the eraser for the tables of this package.
func Eraser() erase.Eraser {
	return erase.Owned{List: []erase.Table{{Name: "followups", Key: []string{"id"}, Text: []string{"person", "reason"}, Whole: map[string]any{"person": erase.Mark, "reason": erase.Mark}}}}
}

// followup is a person to get back to.
type followup struct {
	ID     string    `json:"id,omitempty"` // only those that were added
	Person string    `json:"person"`
	Reason string    `json:"reason"`
	Kind   string    `json:"kind"` // added, unanswered, no_answer, met
	Due    string    `json:"due,omitempty"`
	Since  time.Time `json:"since"`
	Days   int       `json:"days"`
	score  int
	source provenance.Source
}

type followupsIn struct {
	Action string `json:"action,omitempty" jsonschema:"suggest (default), add or complete"`
	Person string `json:"person,omitempty" jsonschema:"for add and complete: the person to get back to"`
	Reason string `json:"reason,omitempty" jsonschema:"for add: why, or what about"`
	Due    string `json:"due_date,omitempty" jsonschema:"for add: the day, such as Friday or 2026-03-10"`
	Days   int    `json:"days_inactive,omitempty" jsonschema:"for suggest: only what is open for at least so many days, default 3"`
	Limit  int    `json:"max_suggestions,omitempty" jsonschema:"for suggest: at most so many, default 10"`
}

// followupsOut is the Data of suggest_followups.
type followupsOut struct {
	Followups []followup `json:"followups"`
	Problems  []string   `json:"problems,omitempty"`
}

func (in followupsIn) actionName() string {
	return cmp.Or(strings.ToLower(strings.TrimSpace(in.Action)), "suggest")
}

// suggestFollowups returns a tool with two parts: suggestions read mailboxes, and the list of added
// persons is in Hob's database.
func (d Deps) suggestFollowups() tools.Tool {
	spec := tools.Spec{
		Name: "suggest_followups", Category: "social", Effects: tools.Read | tools.Write, Timeout: messageTime,
		Description: "Suggest who to get back to: questions in mail and chats that you have not answered, your own questions without an answer, recent meetings. Can also add or complete a person to get back to.",
		Keywords:    "follow up followup get back reply unanswered waiting reach out remind contact answer owe",
	}
	summary := func(in followupsIn) string {
		if in.actionName() == "suggest" {
			return "Suggest who to get back to"
		}
		return strings.TrimSpace(fmt.Sprintf("%s the follow-up with %s: %s", map[string]string{"add": "Add", "complete": "Complete"}[in.actionName()], in.Person, in.Reason))
	}
	judge := func(_ context.Context, in followupsIn) tools.CallAssessment {
		if in.actionName() == "suggest" {
			return tools.CallAssessment{Effects: tools.Read}
		}
		return tools.CallAssessment{Effects: tools.Write}
	}
	own := tools.New(tools.Def[followupsIn]{
		Spec: spec, Summary: summary, Judge: judge,
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in followupsIn) (tools.Result, error) {
			if in.actionName() == "complete" {
				return completeFollowup(tx, c, in)
			}
			if in.actionName() != "add" {
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "action must be suggest, add or complete, not %q", tools.Clean(textnorm.Ellipsize(in.Action, 40)))
			}
			return addFollowup(tx, c, in)
		},
		UndoTx: undoFollowup,
	})
	other := tools.New(tools.Def[followupsIn]{Spec: spec, Summary: summary, Judge: judge, Run: d.runSuggestions})
	return tools.Divide(own, other, func(args json.RawMessage) bool {
		var in followupsIn
		return json.Unmarshal(args, &in) == nil && in.actionName() == "suggest"
	}, func(json.RawMessage) bool { return false })
}

// followupUndo is the undo data of add and complete.
type followupUndo struct {
	ID       string `json:"id"`
	Complete bool   `json:"complete"`
	Person   string `json:"person"`
}

func addFollowup(tx *store.Tx, c tools.Call, in followupsIn) (tools.Result, error) {
	f := followup{ID: "f-" + strings.ToLower(rand.Text()[:8]), Person: strings.TrimSpace(in.Person), Reason: strings.TrimSpace(in.Reason), Kind: "added", Since: c.Now, source: provenance.Worst(c.Provenance)}
	if f.Person == "" || len(f.Person) > 200 || len(f.Reason) > 1000 {
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "person is required, at most 200 bytes; reason has at most 1,000 bytes")
	}
	if in.Due != "" {
		m, err := dateparse.Parse(in.Due, c.Now)
		if err != nil {
			return tools.Result{}, tools.Errorf(tools.InvalidArguments, "due_date: %w", tools.CleanErr(err))
		}
		f.Due = m.Time.In(c.Now.Location()).Format(time.DateOnly)
	}
	_, err := tx.Exec(`INSERT INTO followups (id, person, reason, due, provenance, created_at) VALUES (?,?,?,?,?,?)`, f.ID, f.Person, f.Reason, f.Due, string(f.source), store.Millis(c.Now))
	if err != nil {
		return tools.Result{}, fmt.Errorf("social: add follow-up: %w", err)
	}
	text := "Added: get back to " + f.describeFollowup(c.Now) + "."
	return tools.Result{Text: text, Data: f, Source: provenance.Tool, Undo: tools.NewUndo(fmt.Sprintf("remove the follow-up with %q", f.Person), followupUndo{ID: f.ID, Person: f.Person})}, nil
}

func completeFollowup(tx *store.Tx, c tools.Call, in followupsIn) (tools.Result, error) {
	list, err := openFollowups(tx)
	if err != nil {
		return tools.Result{}, err
	}
	var sources []provenance.Source
	for _, f := range list {
		sources = append(sources, f.source)
	}
	f, err := tools.Pick("follow-up", in.Person, list, func(f followup) (string, string) { return f.ID, f.Person })
	if err != nil {
		return tools.Result{}, tools.Quoting(err, sources...)
	}
	if _, err := tx.Exec(`UPDATE followups SET done_at = ? WHERE id = ?`, store.Millis(c.Now), f.ID); err != nil {
		return tools.Result{}, fmt.Errorf("social: complete follow-up: %w", err)
	}
	return tools.Result{Text: fmt.Sprintf("Done: %s.", f.describeFollowup(c.Now)), Data: f, Source: provenance.Worst(provenance.Tool, f.source), Undo: tools.NewUndo(fmt.Sprintf("reopen the follow-up with %q", f.Person), followupUndo{ID: f.ID, Complete: true, Person: f.Person})}, nil
}

func undoFollowup(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
	var u followupUndo
	if err := json.Unmarshal(data, &u); err != nil {
		return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	stmt, text := `DELETE FROM followups WHERE id = ? AND done_at = 0`, fmt.Sprintf("Removed the follow-up with %q.", u.Person)
	if u.Complete {
		stmt, text = `UPDATE followups SET done_at = 0 WHERE id = ? AND done_at <> 0`, fmt.Sprintf("The follow-up with %q is open again.", u.Person)
	}
	r, err := tx.Exec(stmt, u.ID)
	if err != nil {
		return "", fmt.Errorf("social: undo follow-up: %w", err)
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		return "", errors.Join(err, tools.Errorf(tools.Conflict, "the follow-up has changed since"))
	}
	return text, nil
}

func openFollowups(q store.Querier) (out []followup, err error) {
	rows, err := q.Query(`SELECT id, person, reason, due, provenance, created_at FROM followups WHERE done_at = 0 ORDER BY created_at, id`)
	if err != nil {
		return nil, fmt.Errorf("social: read follow-ups: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		f := followup{Kind: "added"}
		var at int64
		if err := rows.Scan(&f.ID, &f.Person, &f.Reason, &f.Due, &f.source, &at); err != nil {
			return nil, fmt.Errorf("social: read follow-ups: %w", err)
		}
		f.Since = store.Time(at)
		out = append(out, f)
	}
	return out, rows.Err()
}

func (f followup) describeFollowup(now time.Time) string {
	s := textnorm.Ellipsize(f.Person, 80)
	if f.Reason != "" {
		s += ": " + textnorm.Ellipsize(f.Reason, 240)
	}
	if day, err := time.ParseInLocation(time.DateOnly, f.Due, now.Location()); err == nil {
		s += " (due " + dateparse.FormatDay(day, now) + ")"
	}
	return s
}

// runSuggestions ranks what is open: added persons, then unanswered questions, then the user's own
// questions, then recent meetings.
func (d Deps) runSuggestions(ctx context.Context, c tools.Call, in followupsIn) (tools.Result, error) {
	if in.Days < 0 || in.Limit < 0 {
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "days_inactive and max_suggestions must be positive")
	}
	if c.Realm != "" {
		return tools.Result{}, tools.Errorf(tools.PolicyDenied, "only the main agent reads the user's mail and messages together")
	}
	days, limit := cmp.Or(in.Days, 3), min(cmp.Or(in.Limit, 10), 50)
	list, err := openFollowups(d.Store.Reader(ctx))
	if err != nil {
		return tools.Result{}, err
	}
	for i := range list {
		list[i].score = 1000
		if list[i].Due != "" && list[i].Due <= c.Now.Format(time.DateOnly) {
			list[i].score = 2000
		}
	}
	all, problems := d.readHistory(ctx, c.Now, "")
	chats, more, err := d.readChats(ctx, c, messageQuery{since: c.Now.AddDate(0, 0, -60)})
	if err != nil {
		return tools.Result{}, err
	}
	list = append(list, d.openMails(ctx, all, c.Now, days)...)
	list = append(list, openChats(chats, c.Now, days)...)
	list = append(list, recentMeetings(all, c.Now, days)...)
	for i := range list {
		list[i].Days = max(0, int(c.Now.Sub(list[i].Since).Hours()/24))
	}
	sorting.StableByFunc(list, func(a, b followup) int {
		return cmp.Or(cmp.Compare(b.score, a.score), a.Since.Compare(b.Since))
	})
	out := followupsOut{Followups: append([]followup{}, list[:min(len(list), limit)]...), Problems: append(problems, more...)}
	src := provenance.Tool
	var b strings.Builder
	b.WriteString("Get back to:")
	for _, f := range out.Followups {
		src = provenance.Worst(src, f.source)
		fmt.Fprintf(&b, "\n- %s", f.describeFollowup(c.Now))
		if f.Kind != "added" {
			fmt.Fprintf(&b, " (%s)", formatAge(f.Since, c.Now))
		}
	}
	if len(out.Followups) == 0 {
		b.Reset()
		fmt.Fprintf(&b, "Nothing is open for %s or longer.", textnorm.CountNoun(days, "day", "days"))
	}
	return tools.Result{Text: b.String() + problemText(out.Problems), Data: out, Source: src}, nil
}

// readAtMost limits the mails whose text is read for suggestions.
const readAtMost = 30

// openMails finds the latest mail of each person if it asks something and was not answered, in both
// directions.
func (d Deps) openMails(ctx context.Context, all []contactEntry, now time.Time, days int) (out []followup) {
	mails := slices.DeleteFunc(slices.Clone(all), func(e contactEntry) bool { return e.Kind != "mail" || e.Person.Address == "" })
	sorting.StableByFunc(mails, func(a, b contactEntry) int { return b.At.Compare(a.At) })
	seen, read := map[string]bool{}, 0
	for _, e := range mails {
		people := []pim.Person{e.Person}
		if e.Mine {
			people = e.others
		}
		fresh := !slices.ContainsFunc(people, func(p pim.Person) bool { return seen[p.Address] })
		for _, p := range people {
			seen[p.Address] = seen[p.Address] || !e.auto
		}
		if !fresh || e.auto || e.At.After(now.AddDate(0, 0, -days)) || read >= readAtMost {
			continue
		}
		read++
		m, err := e.box.ReadMail(ctx, e.ref)
		if err != nil {
			continue // for example a mail that was moved in the meantime
		}
		q := asksSomething(m.Text)
		if q == "" {
			continue
		}
		f := followup{Person: e.Person.String(), Kind: "unanswered", Since: e.At, score: 500, source: provenance.Outside, Reason: fmt.Sprintf("their mail %q asks: %s", textnorm.Ellipsize(e.Subject, 80), q)}
		if e.Mine {
			f.Kind, f.score, f.Reason = "no_answer", 300, fmt.Sprintf("no answer to your mail %q: %s", textnorm.Ellipsize(e.Subject, 80), q)
		}
		out = append(out, f)
	}
	return out
}

// openChats finds chats with other people that end with a question that the user has not answered.
func openChats(list []message, now time.Time, days int) (out []followup) {
	last := map[string]message{}
	for _, m := range list {
		last[m.Channel+"\x00"+m.Chat] = m
	}
	for _, m := range last {
		if m.Mine || m.Who == "hob" || m.At.After(now.AddDate(0, 0, -days)) {
			continue
		}
		if q := asksSomething(m.Text); q != "" {
			out = append(out, followup{Person: cmp.Or(m.Who, m.Chat), Kind: "unanswered", Since: m.At, score: 500, source: provenance.Worst(m.Provenance), Reason: fmt.Sprintf("their message in %s asks: %s", m.Channel, q)})
		}
	}
	sorting.ByFunc(out, func(a, b followup) int { return a.Since.Compare(b.Since) })
	return out
}

// recentMeetings finds meetings of the last two weeks after which there was no mail with the person.
func recentMeetings(all []contactEntry, now time.Time, days int) (out []followup) {
	for _, e := range all {
		if e.Kind != "meeting" || e.At.After(now.AddDate(0, 0, -days)) || e.At.Before(now.AddDate(0, 0, -14)) {
			continue
		}
		for _, p := range e.others {
			if p.Address == "" || slices.ContainsFunc(all, func(x contactEntry) bool {
				return x.Kind == "mail" && x.At.After(e.At) && (x.Person.Address == p.Address || slices.ContainsFunc(x.others, func(o pim.Person) bool { return o.Address == p.Address }))
			}) {
				continue
			}
			out = append(out, followup{Person: p.String(), Kind: "met", Since: e.At, score: 100, source: provenance.Outside, Reason: fmt.Sprintf("no mail since the meeting %q", textnorm.Ellipsize(e.Subject, 80))})
		}
	}
	return out
}
