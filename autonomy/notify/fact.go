package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/platform/store"
)

// mayRepeat reports whether a notice may be suppressed as a duplicate. Notices that the owner
// requested, or whose time the owner chose, are always sent.
func (a noticeContext) mayRepeat(o bus.OutboxItem) bool {
	return o.Kind == channels.Notice && a.Cause != Answer && a.Cause != Digest && !a.Timed
}

// factKey returns a hash of the content of a notice, which is its text and the watcher's payload.
// Two emails with the same subject are two facts. One email that two watchers found is one fact.
// Without a payload, "all is well" from two sources counts as two facts.
func factKey(a noticeContext, text string) string {
	var v any
	if json.Unmarshal(a.Data, &v) != nil {
		v = nil
	}
	m, ok := v.(map[string]any)
	if ok {
		delete(m, "received") // the value differs in each poll
	}
	plain, err := json.Marshal(v) // the keys are sorted
	if err != nil {
		plain = nil
	}
	who := ""
	if nothing := v == nil || ok && len(m) == 0; (nothing || a.Cause == Schedule) && !a.isError() { // a schedule has no payload other than the time
		who = string(a.Cause) + ":" + a.Watcher
	}
	return hashParts(strings.Join(strings.Fields(text), " "), string(plain), who)
}

// isError reports whether a notice is about an error. A network failure that breaks several
// watchers is reported once.
func (a noticeContext) isError() bool { return a.Cause == Trouble || a.Cause == Own }

// shapeKey returns a hash that similar notices have in common. It covers the cause, the watcher,
// and the text without the digits.
func shapeKey(a noticeContext, text string) string {
	var b strings.Builder
	was := false
	for _, r := range strings.Join(strings.Fields(text), " ") {
		if is := unicode.IsDigit(r); !is {
			b.WriteRune(unicode.ToLower(r))
			was = false
		} else if !was {
			b.WriteByte('#')
			was = true
		}
	}
	return hashParts(string(a.Cause), a.Watcher, b.String())
}

func hashParts(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// sameTx finds an earlier notice about the same fact within the window. Two signals from one
// watcher count as different. Only a signal from another watcher, or an error, can be a duplicate.
func (n *Notifier) sameTx(tx *store.Tx, r Notice) (first Notice, found bool, err error) {
	again := r.Cause == Trouble || r.Cause == Own
	rows, err := listNotices(tx, `WHERE fact = ? AND state <> 'repeated' AND created_at > ? AND (? OR watcher <> ?) ORDER BY seq DESC LIMIT 1`,
		r.Fact, r.CreatedAt.Add(-n.o.SameWithin).UnixMilli(), again, r.Watcher)
	if err != nil || len(rows) == 0 {
		return first, false, err
	}
	return rows[0], true, nil
}

// timesTx returns a sentence about how often a fact was suppressed since the last notice about it,
// or "" if it never was.
func (n *Notifier) timesTx(tx *store.Tx, fact string) (string, error) {
	rows, err := listNotices(tx, `WHERE fact = ? AND state <> 'repeated' ORDER BY seq DESC LIMIT 1`, fact)
	if err != nil || len(rows) == 0 || rows[0].Again == 0 {
		return "", err
	}
	return fmt.Sprintf("\n(Repeated %s since %s.)", formatTimes(rows[0].Again), n.formatPast(rows[0].CreatedAt)), nil
}

func formatTimes(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// likeTx returns the number of similar notices sent within the window, and the time of the first.
func (n *Notifier) likeTx(tx *store.Tx, shape string, now time.Time) (k int, since time.Time, err error) {
	return countNotices(tx, `shape = ? AND state = 'told' AND created_at > ?`, shape, now.Add(-n.o.SameWithin).UnixMilli())
}

// toldTx returns the number of notices in the last hour that count toward the limit.
func (n *Notifier) toldTx(tx *store.Tx, now time.Time) (k int, since time.Time, err error) {
	return countNotices(tx, `state = 'told' AND told_at > ? AND urgency IN ('low', 'normal') AND fact <> ''`, now.Add(-time.Hour).UnixMilli())
}

// raisedTx returns the number of notices in the last hour that a model raised to high urgency.
func (n *Notifier) raisedTx(tx *store.Tx, now time.Time) (k int, since time.Time, err error) {
	return countNotices(tx, `state = 'told' AND told_at > ? AND urgency = 'high' AND weighed = 1 AND fact <> ''`, now.Add(-time.Hour).UnixMilli())
}

func countNotices(q store.Querier, where string, args ...any) (k int, since time.Time, err error) {
	var ms int64
	err = q.QueryRow(`SELECT count(*), coalesce(min(told_at), 0) FROM notices WHERE `+where, args...).Scan(&k, &ms)
	return k, store.Time(ms), wrapError("count notices", err)
}
