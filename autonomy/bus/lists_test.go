package bus_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/platform/provenance"
)

func TestLists(t *testing.T) {
	f := newBus(t)
	var ids []string
	for i := range 5 {
		ids = append(ids, f.putEvent(bus.Event{Source: "s", Session: fmt.Sprint("s", i%2), Provenance: provenance.Owner, Channel: "web", Chat: fmt.Sprint(i)}))
	}
	names := func(es []bus.Event, err error) (out []string) {
		t.Helper()
		failOnError(t, err)
		for _, e := range es {
			out = append(out, e.ID)
		}
		return out
	}
	f.expectList("newest first", names(f.Inbox.List(t.Context(), "", "", 3)), ids[4], ids[3], ids[2])
	f.expectList("before", names(f.Inbox.List(t.Context(), "", ids[2], 3)), ids[1], ids[0])
	f.expectList("of one session", names(f.Inbox.List(t.Context(), "s1", "", 9)), ids[3], ids[1])
	f.expectList("before an unknown one", names(f.Inbox.List(t.Context(), "", "nobody", 9)))
	session, channel, chat, err := f.Owner.LastSession(t.Context())
	if err != nil || session != "s0" || channel != "web" || chat != "4" {
		t.Errorf("last session = %q on %q in %q, %v", session, channel, chat, err)
	}
	if _, err := f.Inbox.Event(t.Context(), "nobody"); !errors.Is(err, bus.ErrNotFound) {
		t.Errorf("Get of an unknown event = %v", err)
	}
	f.claimEvents(1)
	counts, err := f.Inbox.CountByState(t.Context())
	failOnError(t, err)
	if diff := cmp.Diff(map[bus.State]int{bus.Pending: 4, bus.Claimed: 1}, counts); diff != "" {
		t.Error(diff)
	}
}

// A message may contain what PostgreSQL cannot store: a NUL, half of a surrogate pair, and bytes that are no UTF-8.
func TestOwner_IsFoundAfterUnstorableText(t *testing.T) {
	f := newBus(t)
	for _, from := range []provenance.Source{provenance.Owner, provenance.Outside} {
		f.putEvent(bus.Event{
			Source: "web", Session: "web:1", Channel: "web", Chat: "1", Sender: "ada", Provenance: from,
			Payload: []byte(`{"text":"\u0000\u0000 \\u0000 \\\u0000 \ud800 \udc00\ud83d\ude00","name":"Zoë"}`),
		})
		f.putEvent(bus.Event{
			Source: "web", Session: "web:1", Channel: "web", Chat: "1", Sender: "ada", Provenance: from,
			Payload: []byte("{\"text\":\"\xff\xe2\x82 \xed\xa0\x80 \xf0\x9f\x98\x80\",\"name\":\"Zoë\"}"),
		})
	}
	session, _, _, _, err := f.Owner.LastPrivateChat(t.Context())
	if err != nil || session != "web:1" {
		t.Errorf("last private chat = %q, %v", session, err)
	}
	if chat, err := bus.OwnerChat(f.store.Reader(t.Context()), "web"); err != nil || chat != "1" {
		t.Errorf("chat = %q, %v", chat, err)
	}
	if private, err := bus.IsPrivate(f.store.Reader(t.Context()), "web:1"); err != nil || private {
		t.Errorf("private = %t, %v", private, err)
	}
	all, err := bus.Senders(f.store.Reader(t.Context()))
	if err != nil || len(all) != 1 || all[0].Name != "Zoë" {
		t.Errorf("senders = %+v, %v", all, err)
	}
}

func TestDeliveryLists(t *testing.T) {
	f := newBus(t)
	for i := range 4 {
		o := outboxItem("web", "", fmt.Sprint(i))
		o.Session = fmt.Sprint("s", i%2)
		f.sendTexts(fmt.Sprint("e", i), o)
	}
	texts := func(ds []bus.Delivery, err error) (out []string) {
		t.Helper()
		failOnError(t, err)
		for _, d := range ds {
			out = append(out, d.Text)
		}
		return out
	}
	ctx := t.Context()
	f.expectList("newest first", texts(f.Outbox.Deliveries(ctx, "", "", "", 2)), "3", "2")
	f.expectList("older", texts(f.Outbox.Deliveries(ctx, "", "", f.findDelivery("2").ID, 9)), "1", "0")
	f.expectList("of a session and state", texts(f.Outbox.Deliveries(ctx, "s1", "sent", "", 9)), "3", "1")
	f.expectList("of another state", texts(f.Outbox.Deliveries(ctx, "", "dead", "", 9)))
	if e, err := f.Outbox.DeliveryEvent(ctx, f.findDelivery("2").ID); err != nil || e != "e2" {
		t.Errorf("event %q, %v", e, err)
	}
	if _, err := f.Outbox.DeliveryEvent(ctx, "nobody"); !errors.Is(err, bus.ErrNotFound) {
		t.Error(err)
	}
}

func TestNotices(t *testing.T) {
	f := newBus(t)
	notice := func(session, text string) {
		o := outboxItem("web", "", text)
		o.Kind, o.Session = channels.Notice, session
		f.sendTexts(bus.NewID(), o)
		f.now = f.now.Add(time.Second)
	}
	message := func() string {
		id := f.putEvent(bus.Event{Source: "web", Session: "s"})
		f.now = f.now.Add(time.Second)
		return id
	}
	notice("s", "before everything")
	first := message()
	f.sendTexts(first, outboxItem("web", "", "a reply"))
	notice("s", "one")
	notice("other", "not here")
	notice("s", "two")
	notice("s", "three")
	second := message()
	texts := func(event string, n int) (out []string) {
		ns, err := f.Outbox.Notices(t.Context(), "s", event, n)
		failOnError(t, err)
		for _, n := range ns {
			out = append(out, n.Text)
		}
		return out
	}
	f.expectList("since the last message", texts(second, 9), "one", "two", "three")
	f.expectList("the newest two", texts(second, 2), "two", "three")
	f.expectList("before the first", texts(first, 9), "before everything", "one", "two", "three")
}
