package mail

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/injection"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// The categories of triaged messages.
const (
	catSuspicious   = "suspicious" // its text gives instructions to an assistant
	catDeadline     = "deadline"
	catMoney        = "money"
	catAnswer       = "answer" // someone waits for an answer
	catPerson       = "person"
	catNewsletter   = "newsletter"
	catNotification = "notification" // from a program
)

func triageCategories() []string {
	return []string{catDeadline, catAnswer, catMoney, catPerson, catNotification, catNewsletter, catSuspicious}
}

// Limits of a triage.
const (
	triageUsual = 20
	triageMost  = 100
	triageHours = 72
	triageWeeks = 4 // the longest period, in weeks
)

type triageIn struct {
	Limit      int      `json:"limit,omitempty" jsonschema:"number of emails, default 20, at most 100"`
	SinceHours int      `json:"since_hours,omitempty" jsonschema:"only emails of the last hours, default 72"`
	Unread     bool     `json:"unread,omitempty" jsonschema:"only unread emails"`
	Categories []string `json:"categories,omitempty" jsonschema:"only these: deadline, answer, money, person, notification, newsletter, suspicious"`
	Account    string   `json:"account,omitempty" jsonschema:"only this account"`
}

// triagedMail is a triaged message in Data.
type triagedMail struct {
	Account  string    `json:"account"`
	ID       string    `json:"id"` // id for the other tools
	From     string    `json:"from"`
	Subject  string    `json:"subject"`
	At       time.Time `json:"at"`
	Unread   bool      `json:"unread,omitempty"`
	Score    int       `json:"score"` // 0 to 100
	Level    string    `json:"level"` // high, normal or low
	Category string    `json:"category"`
	Reasons  []string  `json:"reasons"`
	Deadline time.Time `json:"deadline,omitzero"`
	Waiting  int       `json:"waiting_days,omitempty"` // days since the sender asked and got no answer
}

type triageOut struct {
	Mails []triagedMail `json:"mails"`
	Error string        `json:"error,omitempty"` // sources that could not be read
}

func (d Deps) emailTriage() tools.Tool {
	return tools.New(tools.Def[triageIn]{
		Spec: tools.Spec{
			Name: "email_triage", Category: "mail", Effects: tools.Read, Timeout: 2 * time.Minute,
			Description: "Sort the newest emails by importance: score, category and reasons for each. Considers who the user answers, deadlines, money, newsletters and who waits for an answer.",
			Keywords:    "triage prioritize prioritise important urgent inbox sort rank emails mail which need attention answer first what matters waiting for me reply deadline newsletter",
		},
		Summary: func(triageIn) string { return "Sort the newest emails by importance" },
		Run:     d.runTriage,
	})
}

func (in triageIn) withDefaults() (triageIn, error) {
	if in.Limit < 0 || in.SinceHours < 0 {
		return in, tools.Errorf(tools.InvalidArguments, "limit and since_hours must be positive")
	}
	in.Limit = min(cmp.Or(in.Limit, triageUsual), triageMost)
	in.SinceHours = min(cmp.Or(in.SinceHours, triageHours), triageWeeks*7*24)
	for i, c := range in.Categories {
		in.Categories[i] = strings.ToLower(strings.TrimSpace(c))
		if !slices.Contains(triageCategories(), in.Categories[i]) {
			return in, tools.Errorf(tools.InvalidArguments, "unknown category %q; categories: %s", tools.Clean(textnorm.Ellipsize(c, 40)), tools.Clean(strings.Join(triageCategories(), ", ")))
		}
	}
	return in, nil
}

func (d Deps) runTriage(ctx context.Context, c tools.Call, in triageIn) (tools.Result, error) {
	in, err := in.withDefaults()
	if err != nil {
		return tools.Result{}, err
	}
	matters, err := d.importanceReason(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	list, err := eachMailbox(ctx, d, in.Account, func(ctx context.Context, r folderReader, owner mailboxOwner) ([]triagedMail, error) {
		return in.triageMailbox(ctx, r, owner, matters, c.Now)
	})
	if err != nil && list == nil {
		return tools.Result{}, tools.ClassifyPIM(err)
	}
	sorting.StableByFunc(list, func(a, b triagedMail) int { return cmp.Or(b.Score-a.Score, b.At.Compare(a.At)) })
	list = list[:min(len(list), in.Limit)]
	out, text := triageOut{Mails: append([]triagedMail{}, list...)}, triageText(list, in, c.Now)
	if err != nil {
		out.Error = pim.SanitizeLine(err.Error(), 400)
		text += "\n\nSome sources could not be read: " + out.Error
	}
	origins := []provenance.Origin{{Kind: "mail", Label: "the inbox", Via: "email_triage"}}
	for i, m := range list {
		origins = append(origins[:i], provenance.Origin{Kind: "mail", Label: m.From, Via: "email_triage"})
	}
	return tools.Result{Text: text, Data: out, Source: provenance.Outside, Origins: origins}, nil
}

// triageMailbox scores the newest messages of one mailbox.
func (in triageIn) triageMailbox(ctx context.Context, r folderReader, owner mailboxOwner, matters func(pim.Message) string, now time.Time) ([]triagedMail, error) {
	habits, err := readHabits(ctx, r, owner, now)
	if err != nil {
		return nil, err
	}
	read := in.Limit
	if in.Unread || len(in.Categories) > 0 { // most emails may not match
		read = triageMost
	}
	mails, err := r.newestMails(ctx, inbox, now.Add(-time.Duration(in.SinceHours)*time.Hour), read, true)
	out := []triagedMail{}
	for _, m := range mails {
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if owner.isOwn(m) || in.Unread && m.Seen {
			continue
		}
		t := scoreMail(m, owner, habits, matters, now)
		if len(in.Categories) == 0 || slices.Contains(in.Categories, t.Category) {
			out = append(out, t)
		}
	}
	return out, err
}

// The scores of a message and their limits.
const (
	baseScore   = 20
	highScore   = 60
	normalScore = 30
)

// scoreMail scores one message. Each reason changes the score by a fixed number of points, so that
// the same mailbox always gives the same result.
func scoreMail(m pim.Message, owner mailboxOwner, habits mailHabits, matters func(pim.Message) string, now time.Time) triagedMail {
	t := triagedMail{Account: owner.account, ID: m.Ref, From: senderLabel(m), Subject: subjectLine(m, 200), At: m.Received, Unread: !m.Seen, Score: baseScore}
	add := func(points int, reason string) {
		t.Score += points
		if reason != "" {
			t.Reasons = append(t.Reasons, reason)
		}
	}
	bulk, program := m.IsBulk(), isAutomated(m)
	found := readContent(m, now)
	switch why := matters(m); {
	case why == "flagged":
		add(40, "you flagged it")
	case why != "" && !bulk:
		add(15, textnorm.Ellipsize(why, 60))
	}
	habits.scoreHabits(m, add)
	found.scoreContent(&t, bulk, program, now, add)
	if found.wants.text != "" && !bulk && !program && !habits.answered[m.ID] {
		if t.Waiting = int(now.Sub(m.Received).Hours() / 24); t.Waiting > 0 {
			add(min(t.Waiting, 7), fmt.Sprintf("the sender has waited for %s", textnorm.CountNoun(t.Waiting, "day", "days")))
		}
	}
	switch {
	case bulk:
		add(-30, "because it is a newsletter or mailing list"+listName(m))
	case program:
		add(-10, "a program sent it")
	case m.Urgent:
		add(10, "the sender marked it as urgent")
	}
	if !m.Seen {
		add(5, "")
	}
	if !bulk && len(m.To) == 1 && m.To[0].Address == owner.address {
		add(5, "")
	}
	t.Category = found.categorizeMail(t, bulk, program, habits.answered[m.ID])
	if t.Category == catSuspicious {
		add(-40, "its text gives instructions to an assistant")
	}
	t.Score = min(max(t.Score, 0), 100)
	t.Level = "low"
	if t.Score >= highScore {
		t.Level = "high"
	} else if t.Score >= normalScore {
		t.Level = "normal"
	}
	if len(t.Reasons) == 0 {
		t.Reasons = []string{"because nothing in it asks for your attention"}
	}
	return t
}

func listName(m pim.Message) string {
	if m.List == "" {
		return ""
	}
	return " (" + textnorm.Ellipsize(m.List, 60) + ")"
}

// mailContent is what the text of a message is about.
type mailContent struct {
	wants, due, bill sentence // the first sentences of their kinds; with the nearest due
	hostile          bool
}

func readContent(m pim.Message, now time.Time) (c mailContent) {
	at := m.Received.In(now.Location())
	for _, s := range append([]sentence{readSentence(m.Subject, at, true)}, readSentences(m.Text, at)...) {
		if s.wantsAnswer() && c.wants.text == "" {
			c.wants = s
		}
		if !s.by.IsZero() && (c.due.by.IsZero() || s.by.Before(c.due.by)) {
			c.due = s
		}
		if s.bill && c.bill.text == "" {
			c.bill = s
		}
	}
	families := injection.Scan(m.Subject + "\n" + m.Text)
	c.hostile = len(families) > 1 || len(families) == 1 && families[0] != injection.Pressure
	return c
}

// scoreContent scores what the text is about. What a newsletter asks or urges counts for nothing.
func (c mailContent) scoreContent(t *triagedMail, bulk, program bool, now time.Time, add func(int, string)) {
	if !c.due.by.IsZero() {
		t.Deadline = c.due.by
		end := c.due.by
		if c.due.day {
			end = end.AddDate(0, 0, 1)
		}
		points := 5
		switch left := end.Sub(now); {
		case bulk:
			points = 0
		case left < 0 && left > -72*time.Hour:
			points = 20
		case left < 0:
			points = 0
		case left < 48*time.Hour:
			points = 25
		case left < 7*24*time.Hour:
			points = 15
		}
		if points > 0 {
			add(points, fmt.Sprintf("deadline %s: %s", formatDeadline(c.due, now), quoteSentence(c.due)))
		}
	}
	if c.bill.text != "" && !bulk {
		add(12, "it is about money: "+quoteSentence(c.bill))
	}
	if c.wants.text != "" && !bulk && !program {
		add(15, "the sender asks: "+quoteSentence(c.wants))
	}
}

func (c mailContent) categorizeMail(t triagedMail, bulk, program, answered bool) string {
	switch {
	case c.hostile:
		return catSuspicious
	case bulk && (c.bill.text == "" || c.due.by.IsZero()):
		return catNewsletter
	case c.bill.text != "":
		return catMoney
	case !t.Deadline.IsZero() && !answered:
		return catDeadline
	case program:
		return catNotification
	case c.wants.text != "" && !answered:
		return catAnswer
	}
	return catPerson
}

func formatDeadline(s sentence, now time.Time) string {
	if s.day {
		return dateparse.FormatDay(s.by, now)
	}
	return dateparse.Format(s.by, now)
}

func quoteSentence(s sentence) string { return fmt.Sprintf("%q", textnorm.Ellipsize(s.text, 100)) }

func triageText(list []triagedMail, in triageIn, now time.Time) string {
	period := fmt.Sprintf("in the last %d hours", in.SinceHours)
	if len(list) == 0 {
		return "No email " + period + " matches."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s, most important first:", countEmails(len(list)), period)
	for i, m := range list {
		fmt.Fprintf(&b, "\n%d. %s (%d, %s) %s: %s, %s", i+1, m.Level, m.Score, m.Category, m.From, m.Subject, dateparse.Format(m.At.In(now.Location()), now))
		if m.Unread {
			b.WriteString(", unread")
		}
		fmt.Fprintf(&b, "\n   Why: %s\n   Id: %s", strings.Join(m.Reasons, "; "), m.ID)
	}
	return b.String()
}
