package notify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hob/autonomy/config"
	"hob/platform/pim"
)

// RateMail returns the urgency of an email according to the rules, and the rule that matched. It
// returns 0 if none matched. It considers only rules about people or words, because an email
// without a watcher has no channel, watcher or time. addresses are the addresses of the senders,
// and names their display names.
func RateMail(rules []Rule, addresses, names []string, text string) (Urgency, string) {
	for i, r := range rules {
		if len(r.People)+len(r.Words) == 0 || len(r.Channels)+len(r.Watchers) > 0 || r.Within > 0 || len(r.Causes) > 0 && !slices.Contains(r.Causes, string(Watcher)) {
			continue
		}
		r.Causes = nil
		if r.matchesNotice(noticeContext{People: addresses, Names: names, Text: text}, time.Time{}) {
			return r.Urgency, fmt.Sprintf("your rule %d", i+1)
		}
	}
	return 0, ""
}

// MailRelevance returns a function that briefly explains why an email is important according to the
// rules, or because the user knows the sender. The function returns "" if the email is not
// important. known returns the name of a known person, or "" for other people.
func MailRelevance(rules []Rule, known func(name, address string) string) func(pim.Message) string {
	return func(m pim.Message) string {
		var addresses, names []string
		for _, p := range m.From {
			addresses, names = append(addresses, p.Address), append(names, p.Name)
		}
		if u, rule := RateMail(rules, addresses, names, m.Subject); u != 0 {
			if u > Normal {
				return rule
			}
			return ""
		}
		for _, p := range m.From {
			if name := known(p.Name, p.Address); name != "" {
				return "you know " + name
			}
		}
		return ""
	}
}

// MailJudge returns a function that calls MailRelevance with the rules in the configuration. known
// returns the function that MailRelevance uses to find known people.
func MailJudge(c config.Notify, known func(context.Context) (func(name, address string) string, error)) func(context.Context) (func(pim.Message) string, error) {
	return func(ctx context.Context) (func(pim.Message) string, error) {
		people, err := known(ctx)
		if err != nil {
			return nil, err
		}
		o, err := OptionsOf(c)
		return MailRelevance(o.Rules, people), err
	}
}
