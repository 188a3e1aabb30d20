//go:build unix

package fleet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// claimLog makes the database write down who claims and closes which event, and how memberships begin and
// end. The row that an instance updates in each of its transactions (platform/store/lease) tells who acts.
// The tables are locked in the order of these transactions, so that there is no deadlock.
const claimLog = `
BEGIN;
LOCK TABLE instances IN SHARE ROW EXCLUSIVE MODE;
LOCK TABLE inbox IN SHARE ROW EXCLUSIVE MODE;
CREATE TABLE test_claims (seq BIGSERIAL PRIMARY KEY, at TIMESTAMPTZ NOT NULL, event TEXT NOT NULL, session TEXT NOT NULL, was TEXT NOT NULL, state TEXT NOT NULL, holder BIGINT NOT NULL, actor BIGINT);
CREATE TABLE test_terms (seq BIGSERIAL PRIMARY KEY, at TIMESTAMPTZ NOT NULL, name TEXT NOT NULL, epoch BIGINT NOT NULL, ended BIGINT NOT NULL);
INSERT INTO test_terms (at, name, epoch, ended) SELECT clock_timestamp(), name, epoch, ended FROM instances;
CREATE FUNCTION test_log_claim() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO test_claims (at, event, session, was, state, holder, actor) VALUES (clock_timestamp(), NEW.id, NEW.session, OLD.state, NEW.state, OLD.claimed_by,
		CASE WHEN NEW.state = 'claimed' THEN NEW.claimed_by ELSE (SELECT epoch FROM instances WHERE xmin::text::bigint = pg_current_xact_id()::text::bigint % 4294967296) END);
	RETURN NEW; END $$;
CREATE FUNCTION test_log_term() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO test_terms (at, name, epoch, ended) VALUES (clock_timestamp(), NEW.name, NEW.epoch, NEW.ended); RETURN NEW; END $$;
CREATE TRIGGER test_claim AFTER UPDATE ON inbox FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state AND NEW.kind = 'message') EXECUTE FUNCTION test_log_claim();
CREATE TRIGGER test_term AFTER INSERT OR UPDATE ON instances FOR EACH ROW EXECUTE FUNCTION test_log_term();
COMMIT;
`

// claim is a change of the state of an event.
type claim struct {
	began, committed time.Time
	event, session   string
	was, state       string
	holder, actor    int64 // epochs; the actor is 0 if it is not known
}

// listClaims returns the changes of states, in the order of the database.
func (f *fleetFixture) listClaims(ctx context.Context) (out []claim) {
	for _, r := range f.queryRows(ctx, `SELECT at, coalesce(pg_xact_commit_timestamp(xmin), at), event, session, was, state, holder, coalesce(actor, 0) FROM test_claims ORDER BY seq`) {
		out = append(out, claim{r[0].(time.Time), r[1].(time.Time), r[2].(string), r[3].(string), r[4].(string), r[5].(string), r[6].(int64), r[7].(int64)})
	}
	return out
}

// listTerms returns the name of the instance for each epoch, and the times at which the epoch began and ended.
func (f *fleetFixture) listTerms(ctx context.Context) (names map[int64]string, began, ended map[int64]time.Time) {
	names, began, ended = map[int64]string{}, map[int64]time.Time{}, map[int64]time.Time{}
	present := map[string]int64{}
	for _, r := range f.queryRows(ctx, `SELECT at, name, epoch, ended FROM test_terms ORDER BY seq`) {
		at, name, epoch := r[0].(time.Time), r[1].(string), r[2].(int64)
		if names[epoch] == "" {
			names[epoch], began[epoch] = name, at
		}
		if old := present[name]; old != epoch && old != 0 && ended[old].IsZero() {
			ended[old] = at
		}
		if present[name] = epoch; r[3].(int64) != 0 && ended[epoch].IsZero() {
			ended[epoch] = at
		}
	}
	return names, began, ended
}

// action is the input of an operation on a session: who claims or closes an event, or asks the model about it.
type action struct {
	session, kind, event string
	epoch                int64  // of the actor
	instance             string // of the actor of a request
}

// holding is who works on which event of a session; the zero value is nobody.
type holding struct {
	event    string
	epoch    int64
	instance string
}

// sessionModel is what the claims of a session must look like: one holder at a time, and only the
// holder closes an event or asks the model. A claim is freed by another instance only after its epoch
// ended, which verifyHistory checks separately.
var sessionModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		by := map[string][]porcupine.Operation{}
		for _, o := range history {
			s := o.Input.(action).session
			by[s] = append(by[s], o)
		}
		var out [][]porcupine.Operation
		for _, ops := range by {
			out = append(out, ops)
		}
		return out
	},
	Init: func() any { return holding{} },
	Step: func(state, input, _ any) (bool, any) {
		h, a := state.(holding), input.(action)
		switch a.kind {
		case "claim":
			return h == holding{}, holding{a.event, a.epoch, a.instance}
		case "close":
			return h.event == a.event && h.epoch == a.epoch, holding{}
		case "free":
			return h.event == a.event, holding{}
		}
		return h.event == a.event && h.instance == a.instance, h
	},
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
}

// verifyHistory checks the claims of all sessions together with the requests to the model. events maps the
// keys of messages to events.
func (f *fleetFixture) verifyHistory(ctx context.Context, events map[string]string) (claimed int) {
	names, _, ended := f.listTerms(ctx)
	var ops []porcupine.Operation
	add := func(a action, began, done time.Time) {
		ops = append(ops, porcupine.Operation{ClientId: 0, Input: a, Call: began.UnixMicro(), Return: max(done.UnixMicro(), began.UnixMicro())})
	}
	sessions := map[string]string{} // by event
	for _, c := range f.listClaims(ctx) {
		a := action{session: c.session, event: c.event, epoch: cmp.Or(c.actor, c.holder)}
		sessions[c.event] = c.session
		switch {
		case c.state == "claimed":
			claimed++
			a.kind, a.instance = "claim", names[a.epoch]
			if a.epoch == 0 || a.instance == "" {
				f.t.Errorf("event %s was claimed by the unknown epoch %d", c.event, a.epoch)
			}
			if end := ended[a.epoch]; !end.IsZero() && end.Before(c.began) {
				f.t.Errorf("event %s was claimed by epoch %d of %s, which had ended %s before", c.event, a.epoch, a.instance, c.began.Sub(end))
			}
		case c.was != "claimed":
			continue
		case c.actor != c.holder && c.state == "pending":
			a.kind = "free"
			if end := ended[c.holder]; end.IsZero() || end.After(c.committed) {
				f.t.Errorf("epoch %d of %s took event %s from epoch %d of %s, which had not ended", c.actor, names[c.actor], c.event, c.holder, names[c.holder])
			}
		default:
			a.kind = "close"
		}
		add(a, c.began, c.committed)
	}
	f.mu.Lock()
	for _, s := range f.steps {
		event := events[fmt.Sprintf("%s-%d", s.session, s.n)]
		add(action{session: sessions[event], kind: "ask", event: event, instance: s.instance}, s.began, s.ended)
	}
	f.mu.Unlock()
	slices.SortStableFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	for _, part := range sessionModel.Partition(ops) {
		res, info := porcupine.CheckOperationsVerbose(sessionModel, part, time.Minute)
		if res == porcupine.Ok {
			continue
		}
		f.t.Errorf("the claims of session %s are %s; %d operations", part[0].Input.(action).session, res, len(part))
		for _, o := range unexplainedPart(part, info) {
			f.t.Logf("%s to %s: %+v", time.UnixMicro(o.Call).Format("05.000000"), time.UnixMicro(o.Return).Format("05.000000"), o.Input)
		}
	}
	return claimed
}

// unexplainedPart returns the operations around the first one that the longest explanation does not contain.
func unexplainedPart(part []porcupine.Operation, info porcupine.LinearizationInfo) []porcupine.Operation {
	longest := 0
	for _, p := range info.PartialLinearizations() {
		for _, l := range p {
			longest = max(longest, len(l))
		}
	}
	return part[max(0, longest-4):min(len(part), longest+4)]
}
