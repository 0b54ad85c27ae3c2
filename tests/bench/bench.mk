# SPDX-License-Identifier: GPL-2.0-or-later
# Benchmarks: ours beside the alternative, in one run. The Makefile includes this.

BENCHES := $(patsubst tests/bench/%.c,%,$(wildcard tests/bench/*.c))

# one program, without frame pointers and with them
$(B)/bench/%-fp: tests/bench/workloads/%.c
	@mkdir -p $(@D)
	$(call show,CC)$(CC) -O2 -fno-omit-frame-pointer -fno-optimize-sibling-calls -Wall -o $@ $<

$(B)/bench/%: tests/bench/workloads/%.c
	@mkdir -p $(@D)
	$(call show,CC)$(CC) -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -Wall -o $@ $<

$(eval $(call skeleton,unwind,$(B)/tests/bench/unwind.bpf.o))
$(B)/bench/unwind: $(B)/skel/unwind.skel.h
$(B)/bench/%: tests/bench/%.c $(B)/tools.a $(LAYER_ARCHIVES)
	@mkdir -p $(@D)
	$(call show,CC)$(CC) $(CPPFLAGS) $(CFLAGS) $(COMMON_FLAGS) $(LDFLAGS) -MF $@.d -o $@ $(filter %.c %.a,$^) \
		$(BPF_LIBS) $(PURE_LIBS)

# what each prints, for the table
RECORD = @mkdir -p $(B)/bench/results
PRINT_AND_RECORD = | tee $(B)/bench/results/$(@:bench-%=%); exit $${PIPESTATUS[-2]}

# all of them, and what they show into bench/README.md
bench: $(BENCHES:%=bench-%) bench-offcpu bench-quiet bench-start bench-events bench-runtimes bench-names bench-view
	tests/bench/table $(B)/bench/results tests/bench/README.md

bench-cfi:
	$(MAKE) $(B)/bench/cfi
	$(RECORD)
	tests/helpers/elf-files | $(B)/bench/cfi $(PRINT_AND_RECORD)

bench-upload:
	$(MAKE) $(B)/bench/upload all test-programs
	$(RECORD)
	{ tests/helpers/elf-files | $(B)/bench/upload 1400; for k in 6.1 6.12; do \
		tests/kernels/boot $$k tests/bench/upload.guest $(B)/bench/upload; done; } $(PRINT_AND_RECORD)

bench-unwind:
	$(MAKE) $(B)/bench/unwind $(B)/bench/depth $(B)/bench/depth-fp
	$(RECORD)
	$(B)/bench/unwind $(B)/bench $(PRINT_AND_RECORD)

# BESIDE=DIRECTORY: the programs of another commit, in the same run
bench-load:
	$(MAKE) all $(B)/bench/load
	$(RECORD)
	$(B)/bench/load $(B) "$(BESIDE)" $(BPF_TOOLS) $(PRINT_AND_RECORD)

bench-offcpu:
	$(MAKE) all $(B)/bench/pingpong
	$(RECORD)
	tests/bench/offcpu $(B) $(PRINT_AND_RECORD)

$(B)/bench/mallocs-fp: tests/workloads/mallocs.cc
	@mkdir -p $(@D)
	$(call show,CXX)$(CXX) -O2 -fno-omit-frame-pointer -fno-optimize-sibling-calls -Wall -o $@ $<

bench-events:
	$(MAKE) all $(B)/tests/mallocs $(B)/bench/mallocs-fp
	$(RECORD)
	tests/bench/events $(B) $(PRINT_AND_RECORD)

bench-runtimes:
	$(MAKE) all
	$(RECORD)
	tests/bench/runtimes $(B) $(PRINT_AND_RECORD)

# what processes feel that are not measured. BESIDE=DIRECTORY: the tools of another commit, in the same run
bench-quiet:
	$(MAKE) all $(B)/bench/bystander
	$(RECORD)
	tests/bench/quiet $(B) 5 $(BESIDE) $(PRINT_AND_RECORD)

# what starting and ending a tool takes. BESIDE: as above
bench-start:
	$(MAKE) all
	$(RECORD)
	tests/bench/start $(B) 10 $(BESIDE) $(PRINT_AND_RECORD)

# names, inlined functions and lines of large files
bench-names:
	$(MAKE) $(B)/tests/symbol-of $(B)/tests/place-of
	$(RECORD)
	tests/bench/names $(B) $(PRINT_AND_RECORD)

# what the view in a terminal costs. BESIDE: as above
bench-view:
	$(MAKE) all
	$(RECORD)
	tests/bench/view $(B) 60 $(BESIDE) $(PRINT_AND_RECORD)

bench-mapupdlat:
	$(MAKE) $(B)/bench/mapupdlat $(B)/mapupdlat
	$(RECORD)
	$(B)/bench/mapupdlat $(B) $(PRINT_AND_RECORD)

.PHONY: bench $(BENCHES:%=bench-%) bench-offcpu bench-quiet bench-start bench-events bench-runtimes bench-names \
	bench-view
