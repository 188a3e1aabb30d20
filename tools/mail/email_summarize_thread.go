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
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Limits of a summary.
const (
	threadUsual  = 20
	threadMost   = 50
	quotedFirst  = 3   // sentences quoted of each message
	quotedChars  = 400 // characters quoted of each message
	maxThreadAsk = 12  // wishes in a summary
)

type threadIn struct {
	Subject   string `json:"subject" jsonschema:"words of the thread's subject or sender, or the id of one of its emails"`
	MaxEmails int    `json:"max_emails,omitempty" jsonschema:"newest emails to summarize, default 20, at most 50"`
	Account   string `json:"account,omitempty" jsonschema:"only this account"`
}

// threadMail is a message of a summarized thread.
type threadMail struct {
	ID    string    `json:"id"`
	From  string    `json:"from"`
	At    time.Time `json:"at"`
	Says  []string  `json:"says"` // sentences quoted from the message
	Files []string  `json:"files,omitempty"`
}

// threadWish is what someone wants in a thread.
type threadWish struct {
	Who  string    `json:"who"`
	What string    `json:"what"` // quoted from the message
	By   time.Time `json:"by,omitzero"`
	// Open reports that no other person wrote later.
	Open bool `json:"open"`
}

type threadOut struct {
	Subject string       `json:"subject"`
	Account string       `json:"account"`
	Count   int          `json:"count"` // messages in the thread
	People  []string     `json:"people"`
	From    time.Time    `json:"first"`
	To      time.Time    `json:"last"`
	Mails   []threadMail `json:"mails"`
	Wishes  []threadWish `json:"wishes,omitempty"`
	Agreed  []string     `json:"agreed,omitempty"` // sentences that decide or confirm something
	Amounts []string     `json:"amounts,omitempty"`
	Others  int          `json:"others,omitempty"` // messages that match the words, in other threads
}

func (d Deps) emailSummarizeThread() tools.Tool {
	return tools.New(tools.Def[threadIn]{
		Spec: tools.Spec{
			Name: "email_summarize_thread", Category: "mail", Effects: tools.Read, Timeout: 2 * time.Minute,
			Description: "Summarize an email thread: who said what, who wants what by when, what was agreed. Quotes the emails and follows their references, also into the sent and archived emails.",
			Keywords:    "summarize summarise summary thread conversation email mail discussion chain what was agreed decided who wants catch up recap",
		},
		Summary: func(in threadIn) string { return "Summarize an email thread" },
		Run:     d.runSummarizeThread,
	})
}

func (d Deps) runSummarizeThread(ctx context.Context, c tools.Call, in threadIn) (tools.Result, error) {
	words := strings.TrimSpace(in.Subject)
	if words == "" || in.MaxEmails < 0 {
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "name the thread by words of its subject or sender, or by the id of one of its emails")
	}
	best, others, err := d.selectThread(ctx, words, in.Account)
	if err != nil {
		return tools.Result{}, tools.ClassifyPIM(err)
	}
	if len(best.mails) == 0 {
		return tools.Result{}, tools.Errorf(tools.NotFound, "no email thread has %q in its subject or sender", tools.Clean(textnorm.Ellipsize(words, 80)))
	}
	out := best.summarizeThread(min(cmp.Or(in.MaxEmails, threadUsual), threadMost), c.Now)
	out.Others = others
	var origins []provenance.Origin
	for _, p := range out.People {
		origins = append(origins, provenance.Origin{Kind: "mail", Label: p, Via: "email_summarize_thread"})
	}
	return tools.Result{Text: out.describeThread(c.Now), Data: out, Source: provenance.Outside, Origins: origins}, nil
}

// selectThread finds the thread in all mailboxes. An id selects the mailbox of its message. Words
// that no subject contains are searched in the senders.
func (d Deps) selectThread(ctx context.Context, words, account string) (best mailThread, others int, err error) {
	var seed pim.Message
	if strings.Count(words, "/") >= 3 && d.Mailers != nil {
		all, err := d.mailersNamed(account)
		if err != nil {
			return best, 0, err
		}
		m, box, err := d.findMail(ctx, words, "", all)
		if err != nil {
			return best, 0, err
		}
		seed, account = m, box.Name()
	}
	type found struct {
		mailThread
		others int
	}
	list, err := eachMailbox(ctx, d, account, func(ctx context.Context, r folderReader, owner mailboxOwner) ([]found, error) {
		t, others, err := findThread(ctx, r, owner, words, seed)
		if err == nil && len(t.mails) == 0 && seed.Ref == "" {
			var newest []pim.Message
			if newest, err = r.newestMails(ctx, inbox, time.Time{}, maxThreadRead, false); err == nil {
				if i := slices.IndexFunc(newest, func(m pim.Message) bool {
					return textnorm.ContainsAllWords(senderLabel(m), textnorm.FoldedWords(words))
				}); i >= 0 {
					t, others, err = findThread(ctx, r, owner, words, newest[i])
				}
			}
		}
		return []found{{t, others}}, err
	})
	for _, f := range list {
		if len(f.mails) == 0 {
			continue
		}
		if len(best.mails) == 0 || len(f.mails) > len(best.mails) {
			others += len(best.mails)
			best = f.mailThread
		} else {
			others += len(f.mails)
		}
		others += f.others
	}
	if len(best.mails) > 0 { // another account that cannot be read does not matter
		err = nil
	}
	return best, others, err
}

// summarizeThread quotes the most informative sentences of the newest messages.
func (t mailThread) summarizeThread(most int, now time.Time) threadOut {
	first, last := t.mails[0], t.mails[len(t.mails)-1]
	out := threadOut{Subject: subjectLine(first, 200), Account: t.owner.account, Count: len(t.mails), From: sentAt(first), To: sentAt(last)}
	for _, m := range t.mails {
		if from := senderLabel(m); !slices.Contains(out.People, from) {
			out.People = append(out.People, from)
		}
	}
	for i := max(0, len(t.mails)-most); i < len(t.mails); i++ {
		m := t.mails[i]
		list := readSentences(m.Text, sentAt(m).In(now.Location()))
		says := pickInformative(list)
		x := threadMail{ID: m.Ref, From: t.nameSender(m), At: sentAt(m), Says: says, Files: m.Files}
		out.Mails = append(out.Mails, x)
		for _, s := range list {
			out.collectSentence(s, t.nameSender(m), !t.isFollowed(i))
		}
	}
	return out
}

// collectSentence adds a sentence to the lists of wishes, decisions and amounts.
func (out *threadOut) collectSentence(s sentence, who string, open bool) {
	text := textnorm.Ellipsize(s.text, 240)
	if s.wantsAnswer() && len(out.Wishes) < maxThreadAsk {
		out.Wishes = append(out.Wishes, threadWish{Who: who, What: text, By: s.by, Open: open})
	}
	if s.decision && !s.question && len(out.Agreed) < maxThreadAsk {
		out.Agreed = append(out.Agreed, who+": "+text)
	}
	if s.money {
		for _, a := range amount.FindAllString(s.text, 5) {
			if a = strings.Trim(a, " .,"); !slices.Contains(out.Amounts, a) && len(out.Amounts) < maxThreadAsk {
				out.Amounts = append(out.Amounts, a)
			}
		}
	}
}

// nameSender returns the sender of a message, "you" for the user.
func (t mailThread) nameSender(m pim.Message) string {
	if t.owner.isOwn(m) {
		return "you"
	}
	return senderLabel(m)
}

// isFollowed reports whether someone else wrote after the message at index i.
func (t mailThread) isFollowed(i int) bool {
	return slices.ContainsFunc(t.mails[i+1:], func(m pim.Message) bool { return senderLabel(m) != senderLabel(t.mails[i]) })
}

// pickInformative selects the sentences of a message that say most, in their order: those that ask,
// decide, or name a time or an amount, and the first one. Greetings have no room beside them.
func pickInformative(list []sentence) (out []string) {
	type ranked struct{ at, weight int }
	var all []ranked
	for i, s := range list {
		weight := 0
		for _, x := range []struct {
			is     bool
			points int
		}{{s.wantsAnswer(), 3}, {s.decision, 2}, {s.money, 2}, {s.dated, 2}, {!s.by.IsZero(), 1}, {len(strings.Fields(s.text)) >= 5, 1}} {
			if x.is {
				weight += x.points
			}
		}
		if len(strings.Fields(s.text)) > 2 || weight > 0 {
			all = append(all, ranked{i, weight})
		}
	}
	sorting.StableByFunc(all, func(a, b ranked) int { return b.weight - a.weight })
	all = all[:min(len(all), quotedFirst)]
	sorting.StableByFunc(all, func(a, b ranked) int { return a.at - b.at })
	left := quotedChars
	for _, r := range all {
		text := textnorm.Ellipsize(list[r.at].text, left)
		if left -= len([]rune(text)); text != "" && left >= 0 {
			out = append(out, text)
		}
	}
	return out
}

// sentAt returns the time of a message: the sender's date unless it is missing or later than the
// arrival.
func sentAt(m pim.Message) time.Time {
	if m.Date.IsZero() || !m.Received.IsZero() && m.Date.After(m.Received.Add(time.Hour)) {
		return m.Received
	}
	return m.Date
}

func (out threadOut) describeThread(now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q: %s by %s, ", out.Subject, countEmails(out.Count), textnorm.Ellipsize(strings.Join(out.People, ", "), 300))
	from, to := dateparse.FormatDay(out.From, now), dateparse.FormatDay(out.To, now)
	if from == to {
		b.WriteString(from + ".")
	} else {
		b.WriteString(from + " to " + to + ".")
	}
	if left := out.Count - len(out.Mails); left > 0 {
		fmt.Fprintf(&b, " The oldest %s left out.", textnorm.CountNoun(left, "email is", "emails are"))
	}
	for _, m := range out.Mails {
		fmt.Fprintf(&b, "\n- %s, %s: ", m.From, dateparse.Format(m.At.In(now.Location()), now))
		if len(m.Says) == 0 {
			b.WriteString("(no text)")
		} else {
			fmt.Fprintf(&b, "%q", strings.Join(m.Says, " … "))
		}
		if len(m.Files) > 0 {
			fmt.Fprintf(&b, " (attached: %s)", textnorm.Ellipsize(strings.Join(m.Files, ", "), 200))
		}
	}
	var open, earlier []string
	for _, w := range out.Wishes {
		line := fmt.Sprintf("- %s: %q", w.Who, w.What)
		if !w.By.IsZero() {
			line += ", by " + dateparse.FormatDay(w.By, now)
		}
		if w.Open {
			open = append(open, line)
		} else {
			earlier = append(earlier, line)
		}
	}
	for _, part := range []struct {
		title string
		lines []string
	}{{"Not answered yet", open}, {"Asked earlier, with later answers", earlier}} {
		if len(part.lines) > 0 {
			fmt.Fprintf(&b, "\n%s:\n%s", part.title, strings.Join(part.lines, "\n"))
		}
	}
	if len(out.Agreed) > 0 {
		b.WriteString("\nStated or agreed:\n- " + strings.Join(out.Agreed, "\n- "))
	}
	if len(out.Amounts) > 0 {
		b.WriteString("\nAmounts: " + strings.Join(out.Amounts, "; "))
	}
	if out.Others > 0 {
		fmt.Fprintf(&b, "\n%s with these words %s not part of this thread.", countEmails(out.Others), map[bool]string{true: "is", false: "are"}[out.Others == 1])
	}
	return b.String()
}
