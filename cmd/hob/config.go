package main

import (
	"github.com/spf13/cobra"

	"hob/configs"
	"hob/engine"
)

func configCmd(w *world) *cobra.Command {
	return group(setup, "config", "check the settings, or print the reference of all", configCheckCmd(w), configReferenceCmd(w))
}

func configCheckCmd(w *world) *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "check hob.toml, config.toml and the environment; exit 2 if something is wrong", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := w.site(cmd.Context())
			if err != nil {
				return err
			}
			if err := s.branchNames(cmd.Context()); err != nil {
				return err
			}
			if err := s.statusAllowed(cmd.Context()); err != nil {
				return err
			}
			waits := s.waits()
			if w.json {
				return w.printJSON(map[string]any{
					"schema": "hob.config/1", "ok": true, "waits_for": string(engine.ErrorReason(waits)), "untrusted": append([]string{}, s.config.Untrusted...),
					"warnings": append([]string{}, s.config.Warnings...),
				})
			}
			for _, m := range s.config.Warnings {
				w.printf("warning: %s\n", m)
			}
			for _, k := range s.config.Untrusted {
				w.printf("not trusted, so not used: %s\n", k)
			}
			if len(s.config.Untrusted) > 0 {
				w.printf("hint: read hob.toml, then hob trust\n")
			}
			if waits == nil {
				w.printf("ok\n")
				return nil
			}
			reason := engine.ErrorReason(waits)
			w.printf("valid, but items will wait: %s: %v\nhint: %s\n", reason, waits, reason.Hint())
			return nil
		},
	}
}

func configReferenceCmd(w *world) *cobra.Command {
	return &cobra.Command{
		Use: "reference", Short: "print every setting with its default and what it means", Args: exactly(0),
		RunE: func(*cobra.Command, []string) error {
			_, err := w.Out.Write(configs.Reference())
			return err
		},
	}
}
