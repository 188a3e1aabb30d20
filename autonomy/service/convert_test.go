package service

import (
	"testing"

	"hob/autonomy/api"
	"hob/autonomy/api/apitest"
	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/guard/pairing"
	"hob/autonomy/mind/goals"
	"hob/autonomy/session"
	"hob/knowledge"
)

// TestAPITypes checks that values have the same JSON in the API as before their conversion.
func TestAPITypes(t *testing.T) {
	apitest.SameJSON(t, func(x session.Info) api.Session { return api.Session(x) })
	apitest.SameJSON(t, apiFoundMessage)
	apitest.SameJSON(t, apiDifference)
	apitest.SameJSON(t, apiEvent)
	apitest.SameJSON(t, apiDelivery)
	apitest.SameJSON(t, apiLedgerEntry)
	apitest.SameJSON(t, guard.Approval.API)
	apitest.SameJSON(t, apiGrant)
	apitest.SameJSON(t, apiWatcherSpec)
	apitest.SameJSON(t, func(x goals.Goal) api.Goal { return api.Goal(x) })
	apitest.SameJSON(t, apiReview)
	apitest.SameJSON(t, apiPlanSection)
	apitest.SameJSON(t, apiNotice)
	apitest.SameJSON(t, apiDelegation)
	apitest.SameJSON(t, apiLesson)
	apitest.SameJSON(t, apiUserEntry)
	apitest.SameJSON(t, func(x guard.ChainHead) api.AuditHead { return api.AuditHead(x) })
	apitest.SameJSON(t, apiAuditLine)
	apitest.SameJSON(t, apiWhy)
	apitest.SameJSON(t, apiTick)
	apitest.SameJSON(t, apiSilence)
	apitest.SameJSON(t, func(x pairing.Pairing) api.Pairing { return api.Pairing(x) })
	apitest.SameJSON(t, func(x pairing.Code) api.PairingCode { return api.PairingCode(x) })
	apitest.SameJSON(t, apiFact)
	apitest.SameJSON(t, apiEntity)
	apitest.SameJSON(t, func(x knowledge.Relation) api.Relation { return api.Relation(x) })
	apitest.SameJSON(t, func(x knowledge.Route) api.Route { return api.Route(x) })
	apitest.SameJSON(t, apiScorePart)
	apitest.SameJSON(t, apiRowCount)
	apitest.SameJSON(t, apiErasurePlan)
	apitest.SameJSON(t, apiErasure)
	apitest.SameJSON(t, func(x bus.LiveEvent) api.FeedEvent { return api.FeedEvent(x) })
}
