package simulate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"hob/platform/host/system"
)

// runStep applies one input. Errors are added to the timeline.
func (p *play) runStep(ctx context.Context, in Input) {
	p.line.inputs++
	var err error
	switch in.Kind {
	case Says:
		session := in.To
		if session == "" {
			session = "home"
		}
		err = p.postAPI(ctx, "/api/v1/sessions/"+url.PathEscape(session)+"/messages", map[string]any{"text": strings.TrimSpace(in.Body), "async": true})
	case Call:
		args := json.RawMessage(cmp.Or(strings.TrimSpace(in.Body), "{}"))
		go func() { // in the background, because the call may wait for an approval
			if err := p.postAPI(ctx, "/api/v1/tools/"+url.PathEscape(in.To), map[string]any{"arguments": args, "session": "home"}); err != nil {
				p.line.addEntry(p.problemEntry(in, err))
			}
		}()
	case Reply:
		err = p.answerQuestion(ctx, in)
	case Away:
		err = p.stayAway(ctx, in.span)
	case Writes:
		err = p.world.writeToChannel(in)
	default:
		p.world.applyInput(in)
		return
	}
	if err != nil {
		p.line.addEntry(p.problemEntry(in, err))
	}
}

func (p *play) problemEntry(in Input, err error) Entry {
	return Entry{At: time.Now(), Kind: Problem, Text: fmt.Sprintf("line %d of the script (%s): %v", in.Line, in.Kind, err)}
}

// applyInput applies an input to the simulated environment.
func (w *world) applyInput(in Input) {
	var err error
	path := strings.TrimSpace(in.To + " " + in.More)
	switch in.Kind {
	case Mail:
		err = w.deliverMail(in)
	case Event:
		err = w.addEvent(in)
	case Web:
		err = w.web.putPage(in)
	case File:
		err = w.putFile(path, []byte(in.Body))
	case Remove:
		at, perr := w.p.inHome(path)
		if err = perr; err == nil {
			err = os.Remove(at)
			w.notifyWatchers(at)
		}
	}
	if err != nil {
		w.p.line.addEntry(w.p.problemEntry(in, err))
	}
}

// stayAway stops Hob and starts it again after span.
func (p *play) stayAway(ctx context.Context, span time.Duration) error {
	p.line.addEntry(Entry{At: time.Now(), Kind: Gone, Text: "Hob stops for " + span.String()})
	if err := p.stop(); err != nil {
		return err
	}
	back := time.Now().Add(span)
	if !back.Before(p.end) { // Hob is not restarted before the end of the simulation
		_, err := p.loadDaemon(ctx)
		return errors.Join(err, p.waitUntil(p.end))
	}
	if err := p.waitUntil(back); err != nil {
		return err
	}
	if err := p.openDaemon(ctx, false); err != nil {
		return err
	}
	p.line.addEntry(Entry{At: time.Now(), Kind: Start, Text: "Hob starts again"})
	return nil
}

// answerQuestion answers the oldest pending question that matches.
func (p *play) answerQuestion(ctx context.Context, in Input) error {
	waitIdle()
	var open []struct {
		ID, Session, Tool, Summary string
		State                      string
	}
	if err := p.callAPI(ctx, http.MethodGet, "/api/v1/approvals", nil, &open); err != nil {
		return err
	}
	slices.Reverse(open) // newest first
	for _, q := range open {
		if q.State != "pending" || in.More != "" && q.Tool != in.More && !strings.Contains(strings.ToLower(q.Summary), strings.ToLower(in.More)) {
			continue
		}
		return p.postAPI(ctx, "/api/v1/sessions/"+url.PathEscape(q.Session)+"/approvals/"+url.PathEscape(q.ID), map[string]any{"approved": in.To == "yes", "note": strings.TrimSpace(in.Body)})
	}
	return errors.New("no matching approval request is open")
}

func (p *play) postAPI(ctx context.Context, path string, in any) error {
	return p.callAPI(ctx, http.MethodPost, path, in, nil)
}

// callAPI calls the API in the same way as the command line.
func (p *play) callAPI(ctx context.Context, method, path string, in, out any) error {
	b, err := json.Marshal(in)
	if err != nil {
		return err
	}
	token, err := system.ReadToken(p.paths.TokenFile())
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+p.d.Addr()+path, bytes.NewReader(b))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token.Reveal())
	req.Header.Set("X-Hob-Channel", "terminal")
	req.Header.Set("Content-Type", "application/json")
	res, err := p.d.Client().Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode >= http.StatusBadRequest {
		var e struct {
			Error  json.RawMessage
			Detail struct{ Message string } `json:"error"`
		}
		if json.Unmarshal(body, &e) == nil && e.Detail.Message != "" {
			return errors.New(e.Detail.Message)
		}
		return fmt.Errorf("%d %s", res.StatusCode, strings.TrimSpace(string(body)))
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(body, out)
}
