package offline

import (
	"slices"
	"strings"
	"time"

	"hob/platform/text/textnorm"
)

func mailBuilders() map[string]builder {
	return map[string]builder{
		"mail.new": func(w *intentDraft) (plan, bool) {
			if w.slotNorm("unread") == "new" || w.slotNorm("unread") == "unread" {
				return listMails("no unread mail", argsOf("unread", true))
			}
			return listMails("no mail", argsOf("unread", false))
		},
		"mail.matters": func(w *intentDraft) (plan, bool) {
			return listMails("no unread mail that matters", argsOf("unread", true, "matters", true))
		},
		"mail.triage":      func(*intentDraft) (plan, bool) { return planCall("email_triage", nil) },
		"mail.newsletters": func(*intentDraft) (plan, bool) { return planCall("email_unsubscribe", nil) },
		"mail.rules":       func(*intentDraft) (plan, bool) { return planCall("list_email_rules", nil) },
		"mail.thread": func(w *intentDraft) (plan, bool) {
			return planCall("email_summarize_thread", argsOf("subject", bareName(w.slotString("about"))))
		},
		"mail.unsubscribe": func(w *intentDraft) (plan, bool) {
			return planCall("email_unsubscribe", argsOf("sender", bareName(w.slotString("which"))))
		},
		"mail.rule":  ruleForMail,
		"mail.who":   mailSince,
		"mail.from":  mailFrom,
		"mail.write": writeMail,
		"mail.write.none": func(w *intentDraft) (plan, bool) {
			return planQuestion("What should the email say?", fillBetween(strings.TrimRight(w.s.originalText(0, len(w.s.tokens)), " .!?")+" saying", ""))
		},
		"mail.answer":  answerMail,
		"mail.archive": moveMail,
		"mail.whole": func(w *intentDraft) (plan, bool) {
			return planCall("read_email", argsOf("mail", bareName(w.slotString("which"))))
		},
		"mail.about": func(w *intentDraft) (plan, bool) {
			return planCall("search_emails", argsOf("query", bareName(w.slotString("about"))))
		},
	}
}

func mailSince(w *intentDraft) (plan, bool) {
	t, err := w.joinTimes(w.allSpans())
	if err != nil || t.every != "" || t.at.After(w.s.now.AddDate(0, 0, 1)) {
		return noPlan()
	}
	if t.none || t.vague {
		return listMails("no mail", nil)
	}
	return listMails("no mail from that time", argsOf("since", t.at.Format(time.DateOnly), "limit", 20))
}

// listMails lists mails, each with its sender, subject and time. none says what there is not.
func listMails(none string, args map[string]any) (plan, bool) {
	p, ok := planCall("read_emails", args)
	p.format = func(text string) string {
		if text == noMail {
			return "You have " + none + "."
		}
		lines := describeMails(text, true)
		if lines == nil {
			return text
		}
		return joinMails("You have "+textnorm.CountNoun(len(lines), "mail", "mails"), lines)
	}
	return p, ok
}

func mailFrom(w *intentDraft) (plan, bool) {
	who := bareName(w.slotString("who"))
	if w.g.isUnspecific(who) || slices.Contains([]string{"i", "you", "we"}, strings.ToLower(who)) {
		return noPlan()
	}
	args := argsOf("from", who)
	if t, err := w.joinTimes(w.allSpans()); err == nil && !t.none && !t.vague && t.every == "" {
		args["since"] = t.at.Format(time.DateOnly)
	}
	p, ok := planCall("search_emails", args)
	p.format = func(text string) string {
		answer := formatMailsFrom(who, text)
		if w.s.tokens[0].norm == "what" {
			return strings.TrimPrefix(answer, "Yes, ")
		}
		return answer
	}
	return p, ok
}

// formatMailsFrom answers whether there is mail from someone, with one line for each mail.
func formatMailsFrom(who, text string) string {
	if text == noMail {
		return "No, I find no mail from " + who + "."
	}
	lines := describeMails(text, false)
	if lines == nil {
		return text
	}
	return joinMails("Yes, "+textnorm.CountNoun(len(lines), "mail", "mails")+" from "+who, lines)
}

// joinMails joins the lines of describeMails below a heading.
func joinMails(heading string, lines []string) string {
	if len(lines) == 1 {
		return heading + ": " + lines[0]
	}
	return heading + ":\n- " + strings.Join(lines, "\n- ")
}

// describeMails returns one line for each mail in the result of a tool, or nil if the result has another
// form.
func describeMails(text string, sender bool) (lines []string) {
	for block := range strings.SplitSeq(text, "\n---\n") {
		fields := map[string]string{}
		rest := block
		for {
			line, more, found := strings.Cut(rest, "\n")
			key, value, ok := strings.Cut(line, ": ")
			if !ok || !slices.Contains([]string{"From", "Subject", "Date", "Id", "Marks"}, key) {
				break
			}
			if fields[key], rest = value, more; !found {
				break
			}
		}
		if fields["From"] == "" || fields["Date"] == "" {
			return nil
		}
		about := fields["Date"]
		if fields["Marks"] != "" {
			about += ", " + fields["Marks"]
		}
		line := quoteText(fields["Subject"]) + " (" + about + ")"
		if sender {
			line = fields["From"] + ", " + line
		}
		if rest = oneLine(rest, 300); rest != "" {
			line += ": " + rest
		}
		lines = append(lines, line)
	}
	return lines
}

// noMail is the result of search_emails without a match.
const noMail = "No mail matches."

// parseAddressees returns the people named in a sentence such as "Ada, Bob and grace@example.org".
func parseAddressees(s string) (out []any) {
	s = strings.NewReplacer(" and ", ",", " & ", ",", ";", ",").Replace(s)
	for part := range strings.SplitSeq(s, ",") {
		if name := bareName(part); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// mailCall returns the tool and the arguments for an email that a sentence dictates.
func (w *intentDraft) mailCall(pairs ...any) (plan, bool) {
	text := w.dictatedText("text")
	for _, q := range []string{`""`, "“”", "''"} {
		r := []rune(q)
		if inner, ok := strings.CutPrefix(text, string(r[0])); ok {
			if inner, ok = strings.CutSuffix(inner, string(r[1])); ok {
				text = inner
			}
		}
	}
	if w.g.isUnspecific(text) {
		return noPlan()
	}
	tool := "send_email"
	if w.hasSlot("draft") {
		tool = "draft_email"
	}
	return planCall(tool, argsOf(append(pairs, "text", upperFirst(text))...))
}

// dictatedText returns the text of a slot including the punctuation at the end of its sentence,
// which belongs to the dictated text.
func (w *intentDraft) dictatedText(slot string) string {
	text := strings.TrimSpace(w.slotString(slot))
	if text == "" || text[len(text)-1] == '"' {
		return text
	}
	i := strings.LastIndex(w.s.text, text)
	if i < 0 {
		return text
	}
	if tail := strings.TrimSpace(w.s.text[i+len(text):]); strings.Trim(tail, ".!?") == "" && len(tail) <= 3 {
		text += tail
	}
	return text
}

func writeMail(w *intentDraft) (plan, bool) {
	who := parseAddressees(w.slotString("who") + w.slotString("few_who"))
	if len(who) == 0 || slices.ContainsFunc(who, func(x any) bool { return w.g.isUnspecific(x.(string)) || len(strings.Fields(x.(string))) > 4 }) {
		return noPlan()
	}
	return w.mailCall("to", who, "subject", upperFirst(strings.TrimSpace(w.slotString("about"))))
}

// ruleForMail handles "always archive emails from shop.example".
func ruleForMail(w *intentDraft) (plan, bool) {
	from := bareName(w.slotString("which"))
	if w.g.isUnspecific(from) {
		return noPlan()
	}
	action := map[string]string{"archive": "archive", "delete": "trash", "trash": "trash", "read": "mark_read"}[w.slotNorm("act")]
	return planCall("create_email_rule", argsOf("from", from, "action", action))
}

func answerMail(w *intentDraft) (plan, bool) {
	which := bareName(w.slotString("which") + w.slotString("few_which"))
	if w.g.isUnspecific(which) {
		return noPlan()
	}
	return w.mailCall("answer", which)
}

func moveMail(w *intentDraft) (plan, bool) {
	which, to := bareName(w.slotString("which")+w.slotString("few_which")), bareName(w.slotString("few_folder"))
	if w.g.isUnspecific(which) {
		return noPlan()
	}
	if w.hasSlot("trash") || to == "bin" {
		to = "trash"
	}
	return planCall("move_email", argsOf("mail", which, "to", to))
}
