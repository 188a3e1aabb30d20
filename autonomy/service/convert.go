package service

import (
	"hob/autonomy/agents"
	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/autonomy/explain"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/autonomy/mind/goals"
	"hob/autonomy/mind/learn"
	"hob/autonomy/notify"
	"hob/autonomy/replay"
	"hob/autonomy/session"
	"hob/tools"
	"hob/watchers"
)

// ConvertEach converts the elements of a slice. A nil slice stays nil.
func ConvertEach[S, T any](in []S, convert func(S) T) []T {
	if in == nil {
		return nil
	}
	out := make([]T, len(in))
	for i, x := range in {
		out[i] = convert(x)
	}
	return out
}

// ConvertPtr converts the value that a pointer points to. Nil stays nil.
func ConvertPtr[S, T any](in *S, convert func(S) T) *T {
	if in == nil {
		return nil
	}
	out := convert(*in)
	return &out
}

func apiSession(x session.Info) api.Session { return api.Session(x) }

func apiFoundMessage(x session.Found) api.FoundMessage { return api.FoundMessage(x) }

func apiReplay(x replay.Comparison) api.Replay {
	return api.Replay{
		Session:     x.Session,
		Turn:        x.Turn,
		Same:        x.Same,
		ModelCalls:  x.ModelCalls,
		Calls:       x.Calls,
		Differences: ConvertEach(x.Differences, apiDifference),
		Text:        x.Text(),
	}
}

func apiDifference(x replay.Difference) api.Difference { return api.Difference(x) }

func apiEvent(x bus.Event) api.Event {
	return api.Event{
		ID:         x.ID,
		Kind:       string(x.Kind),
		Source:     x.Source,
		Session:    x.Session,
		Channel:    x.Channel,
		Chat:       x.Chat,
		Sender:     x.Sender,
		Text:       x.Text,
		Payload:    x.Payload,
		Provenance: x.Provenance,
		ReceivedAt: x.ReceivedAt,
		Key:        x.Key,
		State:      string(x.State),
		Attempts:   x.Attempts,
		Crashes:    x.Crashes,
		NotBefore:  x.NotBefore,
		Error:      x.Error,
		Answer:     x.Answer,
		DoneAt:     x.DoneAt,
	}
}

func apiDelivery(x bus.Delivery) api.Delivery {
	return api.Delivery{
		ID:            x.ID,
		Event:         x.Event,
		Kind:          string(x.Kind),
		Session:       x.Session,
		Channel:       x.Channel,
		Chat:          x.Chat,
		Text:          x.Text,
		State:         string(x.State),
		Attempts:      x.Attempts,
		Error:         x.Error,
		MaybeRepeated: x.MaybeRepeated,
		CreatedAt:     x.CreatedAt,
		NotBefore:     x.NotBefore,
		SentAt:        x.SentAt,
	}
}

func apiLedgerEntry(x bus.Entry) api.LedgerEntry {
	return api.LedgerEntry{
		Call:       x.Call,
		Event:      x.Event,
		Session:    x.Session,
		Tool:       x.Tool,
		Args:       x.Args,
		Effects:    x.Effects,
		State:      string(x.State),
		Decision:   x.Decision,
		Code:       x.Code,
		Result:     x.Result,
		Data:       x.Data,
		Source:     x.Source,
		UndoLabel:  x.UndoLabel,
		UndoneAt:   x.UndoneAt,
		UndoneBy:   x.UndoneBy,
		StartedAt:  x.StartedAt,
		FinishedAt: x.FinishedAt,
		Origins:    x.Origins,
		Returned:   x.Returned,
	}
}

func apiGrant(x guard.Grant) api.Grant {
	return api.Grant{
		ID:        x.ID,
		Tool:      x.Tool,
		Pattern:   x.Pattern,
		Summary:   x.Summary,
		Name:      x.Name,
		Session:   x.Session,
		Task:      x.Task,
		Outside:   x.Outside,
		Used:      x.Used,
		MaxUses:   x.MaxUses,
		State:     x.State,
		Approval:  x.Approval,
		CreatedAt: x.CreatedAt,
		ExpiresAt: x.ExpiresAt,
		LastUsed:  x.LastUsed,
		RevokedAt: x.RevokedAt,
	}
}

func apiWatcherSpec(x watchers.Spec) api.WatcherSpec {
	return api.WatcherSpec{
		ID:         x.ID,
		Kind:       x.Kind,
		Title:      x.Title,
		Config:     x.Config,
		Mode:       string(x.Mode),
		Action:     x.Action,
		Report:     x.Report,
		Agent:      x.Agent,
		Source:     x.Source,
		Missed:     string(x.Missed),
		Priority:   x.Priority,
		Provenance: x.Provenance,
		State:      string(x.State),
		Every:      x.PollPolicy.Every,
		Hours:      x.PollPolicy.Hours,
		PerDay:     x.PollPolicy.PerDay,
		CreatedAt:  x.CreatedAt,
		FiredAt:    x.FiredAt,
		Fired:      x.Fired,
		NextAt:     x.NextAt,
		Zone:       x.Zone,
		LastError:  x.LastError,
	}
}

func apiSilentWatcher(x watchers.Silence) api.SilentWatcher {
	return api.SilentWatcher{
		Watcher:     apiWatcherSpec(x.Watcher),
		Description: x.Description,
		Holds:       ConvertEach(x.Holds, apiHold),
		Counts:      ConvertEach(x.Counts, apiSignalCount),
		Passed:      ConvertEach(x.Passed, apiSuppressedSignal),
	}
}

func apiHold(x watchers.Hold) api.Hold {
	return api.Hold{
		Rule:  string(x.Rule),
		Text:  x.Text,
		Error: x.Error,
		Until: x.Until,
	}
}

func apiSignalCount(x watchers.Count) api.SignalCount {
	return api.SignalCount{
		Rule:  string(x.Rule),
		Count: x.Count,
		First: x.First,
		Last:  x.Last,
	}
}

func apiSuppressedSignal(x watchers.SuppressedSignal) api.SuppressedSignal {
	return api.SuppressedSignal{
		Watcher: x.Watcher,
		Rule:    string(x.Rule),
		Text:    x.Text,
		Why:     x.Why,
		At:      x.At,
	}
}

func apiGoal(x goals.Goal) api.Goal { return api.Goal(x) }

func apiReview(x goals.ReviewRecord) api.Review { return api.Review(x) }

func apiPlanSection(x tools.BriefSection) api.PlanSection {
	return api.PlanSection{
		Title: x.Title,
		Items: ConvertEach(x.Items, apiPlanItem),
		Error: x.Error,
	}
}

func apiPlanItem(x tools.BriefItem) api.PlanItem { return api.PlanItem(x) }

func apiNotice(x notify.Notice) api.Notice {
	return api.Notice{
		ID:         x.ID,
		Event:      x.Event,
		Kind:       string(x.Kind),
		Cause:      string(x.Cause),
		Subject:    x.Subject,
		Watcher:    x.Watcher,
		Session:    x.Session,
		Channel:    x.Channel,
		Chat:       x.Chat,
		Text:       x.Text,
		Provenance: x.Provenance,
		Urgency:    x.Urgency.String(),
		Rule:       x.Rule,
		Weighed:    x.Weighed,
		State:      string(x.State),
		Why:        x.Why,
		HeldBy:     x.HeldBy,
		Until:      x.Until,
		Of:         x.Of,
		Delivery:   x.Delivery,
		Again:      x.Again,
		CreatedAt:  x.CreatedAt,
		ToldAt:     x.ToldAt,
		Place:      x.Place,
		Tried:      x.Tried,
		Stuck:      x.Stuck,
	}
}

func apiDelegation(x agents.Task) api.Delegation {
	return api.Delegation{
		ID:         x.ID,
		Call:       x.Call,
		Parent:     x.Parent,
		Session:    x.Session,
		Event:      x.Event,
		Agent:      x.Agent,
		Task:       x.Task,
		Background: x.Background,
		State:      string(x.State),
		Result:     x.Result,
		Source:     x.Source,
		Rounds:     x.Rounds,
		Tokens:     x.Tokens,
		CreatedAt:  x.CreatedAt,
		EndedAt:    x.EndedAt,
	}
}

func apiLesson(x learn.Lesson) api.Lesson {
	return api.Lesson{
		ID:         x.ID,
		Kind:       string(x.Kind),
		Text:       x.Text,
		State:      string(x.State),
		Confidence: x.Confidence,
		Evidence:   x.Evidence,
		Uses:       x.Uses,
		Realm:      x.Realm,
		Provenance: x.Provenance,
		Event:      x.Event,
		Session:    x.Session,
		CreatedAt:  x.CreatedAt,
		SeenAt:     x.SeenAt,
		RetiredAt:  x.RetiredAt,
		RetiredBy:  x.RetiredBy,
	}
}

func apiUserEntry(x learn.Entry) api.UserEntry { return api.UserEntry(x) }

func apiAuditRecord(x guard.Record) api.AuditRecord {
	return api.AuditRecord{
		Seq:     x.Seq,
		At:      x.At,
		Actor:   x.Actor,
		Action:  x.Action,
		Event:   x.Event,
		Session: x.Session,
		Origin:  x.Origin,
		Tool:    x.Tool,
		Call:    x.Call,
		Effects: x.Effects,
		Verdict: x.Verdict,
		Rule:    x.Rule,
		Tainted: x.Tainted,
		Outcome: x.Outcome,
		Digest:  x.Digest,
		From:    x.From,
		Chain:   x.Chain,
		Prev:    x.Prev,
		Hash:    x.Hash,
	}
}

func apiAuditLine(x explain.AuditLine) api.AuditLine {
	return api.AuditLine{
		AuditRecord: apiAuditRecord(x.Record),
		Approval:    ConvertPtr(x.Approval, guard.Approval.API),
		Texts:       x.Texts,
		What:        x.What,
		Text:        x.Text,
	}
}

func apiTokenUsage(x llm.Usage) api.TokenUsage { return api.TokenUsage(x) }
