package app

import (
	"hob/autonomy/api"
	"hob/autonomy/service"
	"hob/cmd/hob/internal/channel"
	"hob/cmd/hob/internal/doctor"
	"hob/knowledge"
	"hob/knowledge/ingest"
	"hob/tools/memory"
	"hob/tools/tasks"
)

// This file converts the engine's types to those of the API. TestAPITypes checks that both have the
// same JSON.

func apiTask(x tasks.Task) api.Task { return api.Task(x) }

func apiNote(x memory.Note) api.Note { return api.Note(x) }

func apiFact(x knowledge.Fact) api.Fact { return api.Fact(x) }

func apiEntity(x knowledge.Entity) api.Entity { return api.Entity(x) }

func apiScorePart(x knowledge.Part) api.ScorePart { return api.ScorePart(x) }

func apiRowCount(x knowledge.Count) api.RowCount { return api.RowCount(x) }

func apiDocument(x ingest.Document) api.Document { return api.Document(x) }

func apiErasurePlan(x knowledge.ErasurePlan) api.ErasurePlan {
	return api.ErasurePlan{
		Facts:  service.ConvertEach(x.Facts, apiFact),
		Docs:   service.ConvertEach(x.Docs, apiRow),
		Within: x.Within,
		Made:   service.ConvertEach(x.Made, apiRow),
		Turns:  x.Turns,
		Calls:  x.Calls,
	}
}

func apiErasure(x knowledge.ErasureStatus) api.Erasure { return api.Erasure(x) }

func apiRow(x knowledge.Doc) api.Row { return api.Row(x) }

func apiFinding(x doctor.Check) api.Finding {
	return api.Finding{
		Name:    x.Name,
		State:   string(x.State),
		Cause:   x.Cause,
		Remedy:  x.Remedy,
		Link:    x.Link,
		Fixable: x.Fixable,
		Fixed:   x.Fixed,
		In:      x.In,
	}
}

// apiChannel converts a channel without its pairings.
func apiChannel(x channel.Row) api.Channel {
	return api.Channel{
		Name:        x.Name,
		State:       x.State,
		Error:       x.Error,
		Pull:        x.Pull,
		Deaf:        x.Deaf,
		Sent:        x.Sent,
		Since:       x.Since,
		Describe:    x.Describe,
		Heard:       x.Heard,
		HeardAt:     x.HeardAt,
		SentAt:      x.SentAt,
		Refused:     x.Refused,
		Unmentioned: x.Unmentioned,
		Queued:      x.Queued,
		Next:        x.Next,
		About:       x.About,
		Configured:  x.Configured,
		Enabled:     x.Enabled,
		Available:   x.Available,
		Cause:       x.Cause,
		Remedy:      x.Remedy,
		Pairings:    []api.Pairing{},
	}
}
