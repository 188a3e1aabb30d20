// Package agents manages several agents: it selects the agent that answers in a conversation, and
// lets agents delegate tasks to others.
//
// # Agents and routes
//
// An agent (Member) is a turn.Runner with its own persona, model, tools, memory namespace and
// limits. "hob" always exists. SelectAgent selects the agent for each event: the agent that the
// owner chose for this conversation with /agent, otherwise the agent of the most specific matching
// route, otherwise the default agent. A conversation belongs to one agent at a time. When another
// agent takes over, the conversation's window is reset, so that the new agent does not read the
// earlier messages. Messages sent before an /agent choice are still answered by the former agent.
// Tools that an agent does not have are not in its catalog; a call to such a tool by a guessed name
// is denied.
//
// # Delegated tasks
//
// delegate_tasks creates one inbox event and one row per task, in the transaction that records the
// start of its call. A sub-agent is only such an event: it is claimed, resumed after a crash and
// dead-lettered like any other event. The name of its conversation is the parent's name followed by
// the task id ("home/t-1a2b3c4d").
//
//	parent turn: call begun, turn suspended --+--> child events --> child turns
//	     ^                                     |        (at most crew.parallel
//	     |                                     |         of one call at a time)
//	     +-- resumed by the last child's end --+
//
// The parent uses no worker while it waits. Its event stays in the inbox until the end of the last
// child makes it due, in the same transaction, or until crew.timeout has passed. Any number of
// parents may therefore wait without blocking the children. The timeout pauses while a child waits
// for the owner. After starting background tasks, the turn continues immediately. The results of
// background tasks are reported in the parent's conversation and, if requested, start a turn there.
//
// # Rights
//
// A child never has more rights than its parent. Its tools are those that its agent and its parent
// both have and that the task names. Its level is the lower of the two levels. Attended, guest and
// origin are inherited from the parent. Untrusted text in the parent's context makes the task
// untrusted, and untrusted text that a child reads taints the child's result. Grants belong to a
// conversation, so the parent's grants do not apply to the child. Approval requests of a child are
// sent to the same place as the parent's. The rounds and tokens that children use count as their
// parent's: each child gets an equal part of the rest of the turn's limits.
//
// /stop in a conversation stops every task below it; a single task can be canceled. A child that
// fails, times out or is canceled is a named failure in the parent's result.
//
// The package does not run turns: the loop gets the work from this package, runs the turns and
// reports the results to it.
package agents
