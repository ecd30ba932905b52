package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hob/engine/model"
	"hob/engine/task"
	"hob/journal"
)

// ask is the one way to the model. The journal has the request before it leaves,
// and the ledger its worst price ([model.Metered]). An answer that an interrupted
// attempt already paid for is taken from its journal instead.
func (a *attempt) ask(ctx context.Context, req model.Request) (model.Reply, error) {
	digest := requestDigest(req)
	if err := a.recordRequest(req, digest); err != nil {
		return model.Reply{}, err
	}
	if old, ok := a.replay[digest]; ok {
		return old.reply, a.recordReply(old.reply, 0, 0, old.run)
	}
	a.doing(fmt.Sprintf("turn %d", a.turn()))
	before := a.Ledger.Run(a.run.ID())
	began := time.Now()
	req.Item = model.Item{Text: a.item.Text, Answers: a.asked}
	reply, err := model.Ask(ctx, model.Metered(a.Model, a.purse()), req, func(e *model.Error, wait time.Duration) {
		a.asked++
		a.recordFailure(e, wait)
	})
	cost := a.Ledger.Run(a.run.ID()) - before
	if err := a.count(cost); err != nil {
		return model.Reply{}, err
	}
	if err != nil {
		return model.Reply{}, a.unanswered(ctx, err)
	}
	a.asked++
	return reply, a.recordReply(reply, cost, time.Since(began), "")
}

// reserve is the part of a limit, in per cent, that is kept back for the short
// note at the end of an attempt that ran into it.
const reserve = 5

// purse says who pays and how much at most.
func (a *attempt) purse() model.Purse {
	limits := model.LimitsOf(a.Config.Budget)
	if own, ok := a.item.BudgetMicroUSD(); ok && (limits.Item == 0 || own < limits.Item) {
		limits.Item = own
	}
	if !a.ending {
		limits.Run -= limits.Run * reserve / 100
		limits.Item -= limits.Item * reserve / 100
	}
	return model.Purse{
		Ledger: a.Ledger, Limits: limits, Run: a.run.ID(), Item: account(a.task),
		Warn: func(w model.Warning) {
			a.note(journal.BudgetAlert{Action: "warn", Reason: w.Reason, RunMicroUSD: a.Ledger.Run(a.run.ID()), LimitMicroUSD: w.Limit})
		},
	}
}

// account is the item's name in the ledger: the id it had first, so that a
// reworded item doesn't get a new budget.
func account(t task.Task) string {
	if len(t.Former) > 0 {
		return t.Former[0]
	}
	return t.ID
}

// count adds a call's price to the task, so that people see it while it grows.
func (a *attempt) count(cost int64) error {
	if cost == 0 {
		return nil
	}
	return a.update(func(t *task.Task) { t.CostMicroUSD += cost })
}

// unanswered journals a call that brought no reply and returns what it means.
func (a *attempt) unanswered(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var over *model.BudgetError
	if errors.As(err, &over) {
		a.note(journal.BudgetAlert{
			Action: a.Config.Budget.OnLimit, Reason: over.Reason, RunMicroUSD: a.Ledger.Run(a.run.ID()),
			ItemMicroUSD: a.Ledger.Item(account(a.task)), DayMicroUSD: a.Ledger.Day(time.Now()), LimitMicroUSD: over.Limit,
		})
	}
	var e *model.Error
	if errors.As(err, &e) {
		a.asked++
		a.recordFailure(e, 0)
	}
	return err
}

func (a *attempt) recordRequest(req model.Request, digest string) error {
	prompt, err := a.run.Keep([]byte(req.Messages[len(req.Messages)-1].Text))
	if err != nil {
		return err
	}
	info := a.Model.Info()
	return a.run.Record(journal.LLMRequest{
		Operation: "chat", Provider: info.Kind, Model: info.Model, Host: info.Host, MaxTokens: req.MaxOutput,
		Turn: a.turn(), Prompt: prompt, PromptDigest: digest, Messages: len(req.Messages),
	})
}

func (a *attempt) recordReply(reply model.Reply, cost int64, took time.Duration, from string) error {
	kept := reply
	kept.Reasoning = "" // kept apart, and only where the settings say so
	body, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	ref, err := a.run.Keep(body)
	if err != nil {
		return err
	}
	var thoughts journal.Ref
	if reply.Reasoning != "" {
		if thoughts, err = a.run.KeepReasoning([]byte(reply.Reasoning)); err != nil {
			return err
		}
	}
	u := reply.Usage
	return a.run.Record(journal.LLMResponse{
		Model: a.Model.Info().Model, Finish: reply.Stop, Turn: a.turn(),
		InputTokens: u.InputUncached + u.CacheRead + u.CacheWrite, OutputTokens: u.OutputVisible + u.OutputReasoning,
		InputUncached: u.InputUncached, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
		OutputVisible: u.OutputVisible, OutputReasoning: u.OutputReasoning, Estimated: reply.Estimated,
		CostMicroUSD: cost, LatencyMS: took.Milliseconds(), Calls: len(reply.Calls), Body: ref, Reasoning: thoughts, ReplayedFrom: from,
	})
}

func (a *attempt) recordFailure(e *model.Error, wait time.Duration) {
	a.note(journal.LLMError{
		Class: string(e.Class), HTTP: e.Status, Provider: e.Provider, Turn: a.turn(),
		RetryAfterMS: max(wait, e.RetryAfter).Milliseconds(), Message: a.keep(e.Error()),
	})
}

// turn is the number of the reply that is asked for, from 1.
func (a *attempt) turn() int {
	if a.sess == nil {
		return 1
	}
	return a.sess.Turns() + 1
}
