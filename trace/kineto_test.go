package trace_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// kernelAt, launchAt and opAt write one event; fields are more top-level fields,
// beginning with a comma, args more args.
func kernelAt(name string, ts, dur float64, args string) string {
	return fmt.Sprintf(`{"ph":"X","cat":"kernel","name":%q,"pid":0,"tid":7,"ts":%.3f,"dur":%.3f,"args":{"device":0,"stream":7%s}}`, name, ts, dur, args)
}

func launchAt(name string, ts, dur float64, args string) string {
	return fmt.Sprintf(`{"ph":"X","cat":"cuda_runtime","name":%q,"pid":1,"tid":1,"ts":%.3f,"dur":%.3f,"args":{"cbid":211%s}}`, name, ts, dur, args)
}

func opAt(name string, ts, dur float64, args string) string {
	return fmt.Sprintf(`{"ph":"X","cat":"cpu_op","name":%q,"pid":1,"tid":1,"ts":%.3f,"dur":%.3f,"args":{"Ev Idx":1%s}}`,
		name, ts, dur, args)
}

func flowAt(phase string, id, pid, tid int, ts float64) string {
	return fmt.Sprintf(`{"ph":%q,"id":%d,"pid":%d,"tid":%d,"ts":%.3f,"cat":"ac2g","name":"ac2g","bp":"e"}`, phase, id,
		pid, tid, ts)
}

// linkOfFirst prints launch, op, link and health of the first activity.
func linkOfFirst(t *trace.Trace) any {
	k := t.LaneAt(event.LaneGPU, 0)
	return fmt.Sprint(k.Launch().Name(), " ", k.Op().Name(), " ", k.Link(), " ", findings(t))
}

// linksOfSecond prints the launch of the first activity, and link and launch of the second.
func linksOfSecond(t *trace.Trace) any {
	k := t.LaneAt(event.LaneGPU, 1)
	return fmt.Sprint(t.LaneAt(event.LaneGPU, 0).Launch().Name(), " ", k.Link(), " ", k.Launch().Name())
}

// TestLinksAreNamedBothWays: text of a link reads back as the link; other words do not.
func TestLinksAreNamedBothWays(t *testing.T) {
	for _, l := range trace.Links() {
		var back trace.Link
		if text, err := l.MarshalText(); err != nil || back.UnmarshalText(text) != nil || back != l || len(text) == 0 {
			t.Errorf("%q reads as %v", text, back)
		}
	}
	var l trace.Link
	if l.UnmarshalText([]byte("guess")) == nil {
		t.Error("an unknown link was read")
	}
}

// findings lists the codes of the health report.
func findings(t *trace.Trace) string {
	var codes []string
	for _, f := range t.Health().Findings {
		codes = append(codes, fmt.Sprintf("%s=%d", f.Code, f.Count))
	}
	return strings.Join(codes, " ")
}

// names lists the names of a lane's events in its order.
func names(t *trace.Trace, l event.Lane) string {
	var out []string
	for e := range t.Events(l) {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

// TestKineto shows what is made of things that profilers were seen to write;
// docs/format/kineto.md says where.
func TestKineto(t *testing.T) {
	first := func(t *trace.Trace) trace.Event { return t.LaneAt(event.LaneGPU, 0) }
	for _, tt := range []struct {
		name string
		in   string
		want string
		ask  func(*trace.Trace) any
	}{
		// Times.
		{"base-time-gives-wall-clock-time", `{"baseTimeNanoseconds":1759240000000000000,"traceEvents":[` +
			kernelAt("k", 1_000_000.5, 1, "") + `]}`, "2025-09-30T13:46:41.0000005Z",
			func(t *trace.Trace) any {
				e, ok := t.Epoch()
				return map[bool]string{true: e.Format("2006-01-02T15:04:05.999999999Z07:00")}[ok]
			}},
		{"relative-times-without-base-have-no-wall-clock", document(kernelAt("k", 1_000_000.5, 1, "")), "false",
			func(t *trace.Trace) any { _, ok := t.Epoch(); return ok }},
		{"float-duration-with-integer-start", document(`{"ph":"X","cat":"kernel","name":"k","ts":5,"dur":2.0,"args":{"device":0,"stream":7,"rank":0,"External id_raw":4}}`), "2µs 0", func(t *trace.Trace) any {
			return fmt.Sprint(first(t).Duration(), " ", first(t).Data().ExternalID)
		}},
		{"bare-and-quoted-nan-duration-is-zero-and-noted",
			document(record(`"dur":NaN`), record(`"dur":"nan"`), record(`"dur":Infinity`), record(`"dur":"-inf"`)),
			"4 loss-repaired=4", func(t *trace.Trace) any {
				return fmt.Sprint(t.Len(), " ", findingsOf(t, "loss-"))
			}},
		{"nan-in-args-is-harmless", document(kernelAt("k", 1, 1,
			`,"est. achieved occupancy %":nan,"warps per SM":Infinity,"correlation":6`)), "1 6",
			func(t *trace.Trace) any {
				return fmt.Sprint(t.Len(), " ", first(t).Data().Correlation)
			}},
		{"number-with-two-signs-drops-the-event", document(kernelAt("k", 1, 1, ""), record(`"dur":-5.-123`)),
			"1 loss-bad-time=1", func(t *trace.Trace) any {
				return fmt.Sprint(t.Len(), " ", findingsOf(t, "loss-"))
			}},
		// Impossible durations.
		{"unfinished-kernel-ends-where-the-next-begins",
			document(kernelAt("k", 10, 5_000_000, `,"finished":"false"`), kernelAt("l", 30, 1, "")),
			"20µs 5s capped-duration=1", func(t *trace.Trace) any {
				return fmt.Sprint(first(t).Duration(), " ", time.Duration(first(t).Data().Duration), " ",
					findingsOf(t, "cap"))
			}},
		{"unfinished-last-kernel-is-kept-and-noted", document(kernelAt("k", 10, 5_000_000, `,"finished":"false"`)),
			"5s 5s unfinished=1", func(t *trace.Trace) any {
				return fmt.Sprint(first(t).Duration(), " ", time.Duration(first(t).Data().Duration), " ",
					findingsOf(t, "unf"))
			}},
		{"absurd-duration-ends-where-the-next-begins",
			document(kernelAt("k", 10, 6e11, ""), kernelAt("l", 5_000, 1, ""), kernelAt("m", 6_000, 1, "")),
			"4.99ms 1µs capped-duration=1", func(t *trace.Trace) any {
				return fmt.Sprint(first(t).Duration(), " ", t.LaneAt(event.LaneGPU, 1).Duration(), " ",
					findingsOf(t, "cap"))
			}},
		{"long-collective-that-others-wait-for-is-kept",
			document(kernelAt("ncclDevKernel_AllReduce", 10, 17_500_000, ""), kernelAt("l", 17_500_010, 1, "")),
			"17.5s absurd-duration=1", func(t *trace.Trace) any {
				return fmt.Sprint(first(t).Duration(), " ", findingsOf(t, "absurd"))
			}},
		{"unfinished-instants-are-no-error", document(kernelAt("k", 1, 1, ""),
			`{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":1,"args":{"finished":"false"}}`), "1 orphans=1", func(t *trace.Trace) any {
			return fmt.Sprint(t.Len(), " ", findings(t))
		}},
		{"overlap-of-dependent-launches-is-noted-and-kept",
			document(kernelAt("k", 10, 5, ""), kernelAt("l", 12, 5, "")), "5µs same-stream-overlap=1",
			func(t *trace.Trace) any {
				return fmt.Sprint(first(t).Duration(), " ", findingsOf(t, "same"))
			}},
		// Text.
		{"unescaped-quote-in-name-costs-that-event",
			document(kernelAt("a", 1, 1, ""), `{"ph":"X","cat":"kernel","name":"torch "x" y","ts":2,"dur":1,"args":{}}`,
				kernelAt("b", 3, 1, "")), "a b loss-bad-event=1", func(t *trace.Trace) any {
				return names(t, event.LaneGPU) + " " + findingsOf(t, "loss-")
			}},
		{"unescaped-quote-in-args-costs-that-event",
			document(opAt("a", 1, 1, ""), opAt("q", 2, 1, `,"co_filename":"<eval_with_key "0">"`), opAt("b", 3, 1, "")),
			"a b loss-bad-event=1", func(t *trace.Trace) any {
				return names(t, event.LaneOp) + " " + findingsOf(t, "loss-")
			}},
		{"control-characters-and-nul-are-kept-and-noted", document(record("\"name\":\"a\x00b\x1f\"")),
			"\"a\\x00b\\x1f\" loss-repaired=1", func(t *trace.Trace) any {
				return fmt.Sprintf("%q %s", first(t).Name(), findingsOf(t, "loss-"))
			}},
		{"escapes-that-json-does-not-have-are-kept", document(record(`"name":"C:\e\users"`)), `C:\e\users`,
			func(t *trace.Trace) any { return first(t).Name() }},
		{"byte-order-mark-and-crlf", "\xef\xbb\xbf" +
			strings.ReplaceAll("{\"traceEvents\": [\n"+record(`"id":1`)+",\n"+record(`"id":2`)+"\n]}\n", "\n", "\r\n"),
			"2 orphans=2 same-stream-overlap=1", func(t *trace.Trace) any {
				return fmt.Sprint(t.Len(), " ", findings(t))
			}},
		{"trailing-comma-and-empty-event", `{"traceEvents": [` + record(`"id":1`) + `, {}, ]}`, "1 loss-repaired=2",
			func(t *trace.Trace) any {
				return fmt.Sprint(t.Len(), " ", findingsOf(t, "loss-"))
			}},
		{"log-lines-with-quotes-do-not-hide-the-events",
			`{"INFO": ["he said "no""], "traceEvents": [` + record(`"id":1`) + `]}`, "1",
			func(t *trace.Trace) any { return t.Len() }},
		// Metadata.
		{"device-properties-empty", `{"deviceProperties":[],"traceEvents":[` + record(`"id":1`) + `]}`, "0",
			func(t *trace.Trace) any { return len(t.Meta().Devices) }},
		{"device-properties-of-another-vendor", `{"deviceProperties":[{"id":3,"name":"XPU","eu_count":448,"totalGlobalMem":5}],"traceEvents":[` + record(`"id":1`) + `]}`, "3 XPU 5", func(t *trace.Trace) any {
			d := t.Meta().Devices[0]
			return fmt.Sprint(d.ID, " ", d.Name, " ", d.MemoryBytes)
		}},
		{"distributed-info-with-ranks-as-text", `{"distributedInfo":{"backend":"nccl","rank":2,"world_size":4,"nccl_version":"unknown","pg_config":[{"pg_name":"0","ranks":"[0, 1]"}]},"traceEvents":[]}`, "2 4 nccl", func(t *trace.Trace) any {
			m := t.Meta()
			return fmt.Sprint(m.Rank, " ", m.WorldSize, " ", m.Backend)
		}},
		{"distributed-info-of-an-unexpected-shape", `{"distributedInfo":["x"],"traceEvents":[]}`, "-1 0",
			func(t *trace.Trace) any { return fmt.Sprint(t.Meta().Rank, " ", t.Meta().WorldSize) }},
		{"rank-from-collectives-that-agree", document(kernelAt("nccl", 1, 1, `,"Rank":3`),
			kernelAt("nccl", 2, 1, `,"Rank":3`)), "3", func(t *trace.Trace) any { return t.Meta().Rank }},
		{"no-rank-from-collectives-that-differ", document(kernelAt("nccl", 1, 1, `,"Rank":3`),
			kernelAt("nccl", 2, 1, `,"Rank":4`)), "-1", func(t *trace.Trace) any { return t.Meta().Rank }},
		// What is what.
		{"gpu-annotation-is-no-activity", document(kernelAt("k", 1, 1, ""),
			record(`"cat":"gpu_user_annotation","name":"step"`)), "1 gpu_annotation 0 7", func(t *trace.Trace) any {
			e := t.LaneAt(event.LaneAnnotation, 0)
			return fmt.Sprint(t.Len(event.LaneGPU), " ", e.Kind(), " ", e.Device(), " ", e.Stream())
		}},
		{"sync-overhead-and-event-rows-are-never-busy-time",
			document(record(`"cat":"cuda_sync"`), record(`"cat":"overhead","name":"Buffer Flush","pid":-1`),
				record(`"cat":"cuda_event"`)), "0 3 k k Buffer Flush", func(t *trace.Trace) any {
				return fmt.Sprint(t.Len(event.LaneGPU), " ", t.Len(event.LaneSync), " ", names(t, event.LaneSync))
			}},
		{"sync-row-is-shown-on-its-stream", document(record(`"cat":"cuda_sync","name":"Stream Sync","tid":1000007`)),
			"7 7", func(t *trace.Trace) any {
				e := t.LaneAt(event.LaneSync, 0)
				return fmt.Sprint(e.Stream(), " ", t.Thread(e.Thread()).ID)
			}},
		{"hip-copy-stays-in-its-category", document(record(`"name":"__amd_rocclr_copyBuffer"`),
			`{"ph":"X","cat":"cuda_runtime","name":"hipLaunchKernel","pid":1,"tid":1,"ts":1,"dur":1,"args":{"cid":5,"kernel":"k","stream":0}}`), "kernel kernel runtime", func(t *trace.Trace) any {
			return fmt.Sprint(first(t).Kind(), " ", first(t).Data().Category, " ", t.LaneAt(event.LaneLaunch, 0).Kind())
		}},
		{"pseudo-processes-are-no-gpu", document(kernelAt("k", 2, 1, ""),
			`{"ph":"X","cat":"Trace","name":"PyTorch Profiler (0)","pid":"Spans","tid":"PyTorch Profiler","ts":1,"dur":9}`,
			`{"ph":"i","s":"g","name":"Record Window End","pid":"","tid":"","ts":10}`,
			`{"ph":"i","s":"g","name":"Iteration Start: PyTorch Profiler","pid":"Traces","tid":"Trace PyTorch Profiler","ts":1}`,
			`{"ph":"C","name":"SM","pid":"GPU 0 Counters","ts":1,"args":{"":5}}`), "[0] [7] 1 1",
			func(t *trace.Trace) any {
				return fmt.Sprint(t.Devices(), t.Streams(0), " ", t.Len(event.LaneGPU), " ", t.Len(event.LaneOther))
			}},
		{"only-stored-phases-are-stored-and-all-are-counted",
			document(kernelAt("k", 1, 1, ""), `{"ph":"b","id":1,"ts":1}`, `{"ph":"e","id":1,"ts":2}`,
				`{"ph":"C","name":"c","ts":1}`, `{"ph":"M","name":"process_labels","pid":1,"args":{"labels":"GPU 9"}}`,
				`{"ph":"é"}`), "1 6", func(t *trace.Trace) any {
				n := int64(0)
				for _, categories := range t.Meta().Counts {
					for _, k := range categories {
						n += k
					}
				}
				return fmt.Sprint(t.Len(), " ", n)
			}},
		{"event-without-category-is-kept-apart", document(`{"ph":"X","name":"x","pid":1,"tid":1,"ts":1,"dur":1}`),
			"0 1", func(t *trace.Trace) any {
				return fmt.Sprint(t.Len(event.LaneGPU), " ", t.Len(event.LaneOther))
			}},
		{"declared-gpus-without-work-are-no-devices",
			document(`{"ph":"M","name":"process_name","pid":15,"args":{"name":"python"}}`,
				`{"ph":"M","name":"process_labels","pid":15,"args":{"labels":"GPU 15"}}`,
				record(`"args":{"device":9,"stream":1}`)), "[9]", func(t *trace.Trace) any { return t.Devices() }},
		{"thread-ids-of-64-bits", document(`{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":140132498851584,"ts":1,"dur":1}`, `{"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":-5,"ts":1,"dur":1}`), "140132498851584 -5", func(t *trace.Trace) any {
			return fmt.Sprint(t.Threads()[0].ID, " ", t.Threads()[1].ID)
		}},
		{"stream-handles-of-64-bits-are-told-apart",
			document(record(`"args":{"device":0,"stream":94230218376352}`),
				record(`"args":{"device":0,"stream":94230218376353}`)), "2",
			func(t *trace.Trace) any { return len(t.Streams(0)) }},
		{"merged-process-labels-are-kept", document(`{"ph":"M","name":"process_name","pid":"[TP00-DP00] 83","args":{"name":"python"}}`, `{"ph":"X","cat":"cpu_op","name":"a","pid":"[TP00-DP00] 83","tid":4,"ts":1,"dur":1}`), "[TP00-DP00] 83 python 4", func(t *trace.Trace) any {
			th := t.Threads()[0]
			return fmt.Sprint(th.ProcessLabel, " ", th.ProcessName, " ", th.ID)
		}},
		{"missing-metadata-rows-cost-only-names", document(opAt("a", 1, 1, "")), `{"process":1,"thread":1} a`,
			func(t *trace.Trace) any {
				return fmt.Sprintf(`{"process":%d,"thread":%d}%s%s %s`, t.Threads()[0].Process, t.Threads()[0].ID,
					t.Threads()[0].Name, t.Threads()[0].ProcessName, names(t, event.LaneOp))
			}},
		// Links.
		{"kernel-that-starts-inside-or-before-its-launch-is-linked",
			document(launchAt("cudaLaunchKernel", 10, 5, `,"correlation":1`),
				kernelAt("inside", 12, 1, `,"correlation":1`), launchAt("cudaLaunchKernel", 20, 5, `,"correlation":2`),
				kernelAt("before", 19.9, 1, `,"correlation":2`)), "10µs 20µs", func(t *trace.Trace) any {
				return fmt.Sprint(t.Raw(first(t).Launch().Start())/1000, "µs ",
					t.Raw(t.LaneAt(event.LaneGPU, 1).Launch().Start())/1000, "µs")
			}},
		{"orphans-at-the-start-are-said-to-be", document(orphans(20)...), "true true", func(t *trace.Trace) any {
			f := t.Health().Findings[0]
			return fmt.Sprint(f.Code == trace.CodeOrphans && f.Count == 2, " ",
				strings.Contains(f.Message, "start of the window"))
		}},
		{"external-id-finds-the-op-of-an-orphan", document(opAt("aten::mm", 1, 3, `,"External id":77`),
			kernelAt("k", 5, 1, `,"External id":77`)), "aten::mm",
			func(t *trace.Trace) any { return first(t).Op().Name() }},
		{"correlation-goes-before-external-id", document(opAt("other", 1, 1, `,"External id":77`),
			opAt("aten::mm", 3, 3, ""), launchAt("cudaLaunchKernel", 4, 1, `,"correlation":5`),
			kernelAt("k", 9, 1, `,"correlation":5,"External id":77`)), "aten::mm",
			func(t *trace.Trace) any { return first(t).Op().Name() }},
		{"correlation-zero-is-none", document(launchAt("hipLaunchKernel", 4, 1, `,"correlation":0`),
			kernelAt("rccl", 9, 1, `,"correlation":0`)), "false 1", func(t *trace.Trace) any {
			return fmt.Sprint(first(t).Launch().Valid(), " ", t.Health().Orphans)
		}},
		{"unsigned-correlations", document(launchAt("cudaLaunchKernel", 4, 1, `,"correlation":18446744073709551615`),
			kernelAt("k", 9, 1, `,"correlation":18446744073709551615`)), "true 18446744073709551615",
			func(t *trace.Trace) any {
				return fmt.Sprint(first(t).Launch().Valid(), " ", first(t).Data().Correlation)
			}},
		{"reused-correlation-goes-to-the-launch-before",
			document(launchAt("cudaLaunchKernel", 1, 1, `,"correlation":3`),
				launchAt("cudaLaunchKernel", 11, 1, `,"correlation":3`), kernelAt("a", 5, 1, `,"correlation":3`),
				kernelAt("b", 15, 1, `,"correlation":3`)), "0 10µs", func(t *trace.Trace) any {
				return fmt.Sprint(int64(first(t).Launch().Start()), " ",
					time.Duration(t.LaneAt(event.LaneGPU, 1).Launch().Start()-0))
			}},
		{"a-call-that-launches-goes-before-one-that-shares-the-id",
			document(launchAt("cudaEventQuery", 2, 1, `,"correlation":3`),
				launchAt("cudaMemcpyAsync", 1, 3, `,"correlation":3`), kernelAt("a", 5, 1, `,"correlation":3`)),
			"cudaMemcpyAsync", func(t *trace.Trace) any { return first(t).Launch().Name() }},
		{"flows-do-not-matter", document(launchAt("cudaLaunchKernel", 1, 1, `,"correlation":3`),
			kernelAt("a", 5, 1, `,"correlation":3`), `{"ph":"s","id":3,"pid":1,"tid":1,"ts":1,"cat":"fwdbwd","name":"fwdbwd"}`,
			`{"ph":"f","id":99,"pid":0,"tid":7,"ts":5,"cat":"ac2g","name":"ac2g","bp":"e"}`), "true ", func(t *trace.Trace) any {
			return fmt.Sprint(first(t).Launch().Valid(), " ", findings(t))
		}},
		{"without-correlations-the-external-id-of-a-launch-links",
			document(opAt("aten::mm", 1, 5, `,"External id":99`),
				launchAt("hipGetDeviceProperties", 2, 1, `,"External id":24`),
				launchAt("hipModuleLaunchKernel", 3, 1, `,"External id":25`), kernelAt("a", 6, 1, `,"External id":25`)),
			"hipModuleLaunchKernel aten::mm external-id linked-by-external-id=1", linkOfFirst},
		{"the-external-id-of-a-call-that-launches-nothing-does-not",
			document(launchAt("hipGetDeviceProperties", 2, 1, `,"External id":25`),
				kernelAt("a", 6, 1, `,"External id":25`)), "   orphans=1", linkOfFirst},
		{"a-correlation-outside-the-window-stays-an-orphan",
			document(launchAt("cudaLaunchKernel", 2, 1, `,"correlation":3,"External id":25`),
				kernelAt("a", 6, 1, `,"correlation":7,"External id":25`)), "   orphans=1", linkOfFirst},
		{"flows-link-where-nothing-has-an-id", document(opAt("aten::mm", 1, 5, ""),
			launchAt("cudaLaunchKernel", 2, 1, ""), flowAt("s", 8, 1, 1, 2), kernelAt("a", 6, 1, ""),
			flowAt("f", 8, 0, 7, 6)), "cudaLaunchKernel aten::mm flow linked-by-flow=1", linkOfFirst},
		{"flows-behind-all-events-link", document(launchAt("cudaLaunchKernel", 2, 1, ""), kernelAt("a", 6, 1, ""),
			flowAt("f", 8, 0, 7, 6), flowAt("s", 8, 1, 1, 2)), "cudaLaunchKernel  flow linked-by-flow=1", linkOfFirst},
		{"a-flow-names-the-correlation-of-its-launch",
			document(launchAt("cudaLaunchKernel", 2, 1, `,"correlation":8`), kernelAt("a", 6, 1, ""),
				flowAt("f", 8, 0, 7, 6)), "cudaLaunchKernel  flow linked-by-flow=1", linkOfFirst},
		{"a-flow-names-the-external-id-of-its-launch",
			document(launchAt("cudaLaunchKernel", 2, 1, `,"External id":8`), kernelAt("a", 6, 1, ""),
				flowAt("s", 8, 0, 7, 6), flowAt("f", 8, 0, 7, 6)), "cudaLaunchKernel  flow linked-by-flow=1",
			linkOfFirst},
		{"flows-of-autograd-do-not-link", document(launchAt("cudaLaunchKernel", 2, 1, `,"External id":8`),
			kernelAt("a", 6, 1, ""), strings.ReplaceAll(flowAt("f", 8, 0, 7, 6), "ac2g", "fwdbwd")), "   orphans=1",
			linkOfFirst},
		{"the-op-of-an-orphan-says-so", document(opAt("aten::mm", 1, 3, `,"External id":77`),
			kernelAt("k", 5, 1, `,"External id":77`)), " aten::mm op-external-id orphans=1", linkOfFirst},
		{"a-node-of-a-graph-belongs-to-the-replay-before-it",
			document(launchAt("cudaGraphLaunch", 2, 1, `,"correlation":9`),
				kernelAt("b", 6, 1, `,"correlation":9,"graph id":3,"graph node id":1`),
				kernelAt("a", 8, 1, `,"graph id":3,"graph node id":2`)), "cudaGraphLaunch graph-id cudaGraphLaunch",
			linksOfSecond},
		{"a-replay-runs-each-node-once", document(launchAt("cudaGraphLaunch", 2, 1, `,"correlation":9`),
			kernelAt("b", 6, 1, `,"correlation":9,"graph id":3,"graph node id":1`),
			kernelAt("a", 8, 1, `,"graph id":3,"graph node id":1`)), "cudaGraphLaunch  ", linksOfSecond},
		{"inputs-of-an-op", document(opAt("aten::mm", 1, 3,
			`,"Input Dims":[[2, 3]],"Input type":["float"],"Concrete Inputs":["x"],"Input Strides":[[3, 1]]`)),
			`[[2, 3]] ["float"] [[3, 1]] ["x"]`, func(t *trace.Trace) any {
				op := t.LaneAt(event.LaneOp, 0)
				types, strides, values := op.Inputs()
				return fmt.Sprint(op.Shape(), " ", types, " ", strides, " ", values)
			}},
		{"graph-launch-without-kernels-is-reported",
			document(launchAt("cudaGraphLaunch", 1, 1, `,"correlation":3`), kernelAt("a", 5, 1, "")), "empty-graphs=1",
			func(t *trace.Trace) any { return findingsOf(t, "empty") }},
		// Files of one side only.
		{"gpu-only", document(kernelAt("a", 5, 1, ""), kernelAt("b", 7, 1, "")), "degraded orphans=2",
			func(t *trace.Trace) any { return fmt.Sprint(t.Health().Status, " ", findings(t)) }},
		{"cpu-only", document(opAt("a", 5, 1, "")), "unusable no-gpu-activity=0",
			func(t *trace.Trace) any { return fmt.Sprint(t.Health().Status, " ", findings(t)) }},
		{"only-metadata-rows", document(`{"ph":"M","name":"process_name","pid":15,"args":{"name":"python"}}`),
			"unusable empty=0", func(t *trace.Trace) any { return fmt.Sprint(t.Health().Status, " ", findings(t)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := fmt.Sprint(tt.ask(read(t, strings.NewReader(tt.in)))); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// findingsOf is findings, of those whose code begins with prefix only.
func findingsOf(t *trace.Trace, prefix string) string {
	var codes []string
	for _, f := range strings.Fields(findings(t)) {
		if strings.HasPrefix(f, prefix) {
			codes = append(codes, f)
		}
	}
	return strings.Join(codes, " ")
}

// orphans writes n kernels; the first tenth have no launch.
func orphans(n int) (events []string) {
	for i := range n {
		at := float64(10 * (i + 1))
		corr := fmt.Sprintf(`,"correlation":%d`, i+1)
		if i >= n/10 {
			events = append(events, launchAt("cudaLaunchKernel", at, 1, corr))
		}
		events = append(events, kernelAt("k", at+5, 1, corr))
	}
	return events
}

// TestCategoriesOfKineto: every category of ActivityType.h, and those that came
// before, become what they are, and only the GPU's work becomes GPU activity.
func TestCategoriesOfKineto(t *testing.T) {
	for want, cats := range map[event.Kind]string{
		event.Kernel:        "kernel Kernel concurrent_kernel",
		event.Memcpy:        "gpu_memcpy Memcpy",
		event.Memset:        "gpu_memset Memset",
		event.Runtime:       "cuda_runtime Runtime mtia_runtime xpu_runtime glow_runtime privateuse1_runtime",
		event.Driver:        "cuda_driver xpu_driver privateuse1_driver",
		event.Op:            "cpu_op Operator",
		event.Frame:         "python_function",
		event.Annotation:    "user_annotation",
		event.GPUAnnotation: "gpu_user_annotation",
		event.Sync:          "cuda_sync cuda_event",
		event.Overhead:      "overhead",
		event.Other: "mtia_ccp_events mtia_workloadd mtia_insight hpu_op collective_comm cuda_profiler_range hardware_counters " +
			"cpu_instant_event external_correlation ac2g async_cpu_to_gpu async_gpu cpu_to_cuda fwdbwd Trace none",
	} {
		for _, cat := range strings.Fields(cats) {
			if got := event.Kind(kind.Of(cat, "x")); got != want {
				t.Errorf("Of(%q) = %v, want %v", cat, got, want)
			}
		}
	}
	if got := event.Kind(kind.Of("python_function", "nn.Module: Linear_3")); got != event.Module {
		t.Errorf("a module call is a %v", got)
	}
	if got := event.Kind(kind.Of("", "")); got != event.Other {
		t.Errorf("no category is a %v", got)
	}
}

// TestRankOfAFile: distributedInfo goes before the name, the name before args.
func TestRankOfAFile(t *testing.T) {
	info := `{"distributedInfo":{"rank":5},"traceEvents":[` + record(`"id":1`) + `]}`
	args := document(kernelAt("nccl", 1, 1, `,"Rank":9`))
	for _, tt := range []struct {
		file, text string
		rank       int
		clash      bool
	}{
		{"x-rank-5.json", info, 5, false},
		{"x-rank-3.json", info, 5, true},
		{"x-rank-3.json", strings.Replace(info, "5", "0", 1), 0, true},
		{"x-rank-0.json", strings.Replace(info, "5", "0", 1), 0, false},
		{"x-TP-1.trace.json", info, 5, false}, // a tensor-parallel rank is no global rank
		{"x-TP-1.trace.json", args, 1, false},
		{"x.json", args, 9, false},
		{"x.json", document(record(`"id":1`)), -1, false},
	} {
		path := filepath.Join(t.TempDir(), tt.file)
		if err := os.WriteFile(path, []byte(tt.text), 0o666); err != nil {
			t.Fatal(err)
		}
		tr, err := trace.Open(t.Context(), path, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if clash := findingsOf(tr, "rank-clash") == "rank-clash=1"; tr.Meta().Rank != tt.rank || clash != tt.clash {
			t.Errorf("%s: rank %d, clash %v, want %d, %v", tt.file, tr.Meta().Rank, clash, tt.rank, tt.clash)
		}
	}
}

// TestRanksThatStraddleAQuarter: each file's times are relative to its own base.
func TestRanksThatStraddleAQuarter(t *testing.T) {
	// Kineto counts from the start of a span of three months; one rank has been
	// recorded 5 µs before the turn, the other one 5 µs after it.
	const span = 7_889_238_000_000_000
	const base = 200 * span
	a := read(t, strings.NewReader(fmt.Sprintf(`{"baseTimeNanoseconds":%d,"traceEvents":[%s]}`, int64(base),
		kernelAt("k", span/1000-5, 1, ""))))
	b := read(t, strings.NewReader(fmt.Sprintf(`{"baseTimeNanoseconds":%d,"traceEvents":[%s]}`, int64(base+span),
		kernelAt("k", 5, 1, ""))))
	at := func(t *trace.Trace) int64 { return t.Raw(t.LaneAt(event.LaneGPU, 0).Start()) + t.Meta().BaseTime }
	if got := at(b) - at(a); got != 10_000 {
		t.Errorf("the second kernel began %d ns after the first, want 10000", got)
	}
	x, ok := a.Epoch()
	y, ok2 := b.Epoch()
	if !ok || !ok2 || y.Sub(x) != 10_000 {
		t.Errorf("wall-clock times %v and %v, want 10 µs between them", x, y)
	}
	if math.MaxInt64-base < span {
		t.Fatal("the test overflows")
	}
}

// TestMissingGPUWorkNamesTheCause: events of the GPU come last in the file, so
// where it is cut off the profiler is not to blame.
func TestMissingGPUWorkNamesTheCause(t *testing.T) {
	whole := document(opAt("a", 5, 1, ""), opAt("b", 7, 1, ""))
	for want, text := range map[string]string{"without CUDA": whole, "cut off": whole[:len(whole)-4]} {
		found := read(t, strings.NewReader(text)).Health().Findings
		if len(found) == 0 || found[0].Code != trace.CodeNoActivity || !strings.Contains(found[0].Message, want) {
			t.Errorf("findings %v, want one of no GPU activity with %q", found, want)
		}
	}
}

// TestActivitiesWithoutTimes: kernels were recorded, so nothing says that the profiler did not look at the GPU.
func TestActivitiesWithoutTimes(t *testing.T) {
	text := document(opAt("a", 5, 1, ""), kernelAt("k", 0, 0, ""), kernelAt("l", 0, 0, ""))
	found := read(t, strings.NewReader(text)).Health().Findings
	if len(found) == 0 || found[0].Code != trace.CodeNoTimes ||
		!strings.HasPrefix(found[0].Message, "2 GPU activities were recorded") {
		t.Errorf("findings %v, want that two activities have no time", found)
	}
}
