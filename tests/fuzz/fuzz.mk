# SPDX-License-Identifier: GPL-2.0-or-later
# Fuzzing: libFuzzer targets, and their corpus replayed under sanitizers by the tests. The Makefile includes this.

FUZZ_TARGETS := $(filter-out replay,$(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c))) arm64-code
FUZZ_SECONDS ?= 600
SANITIZE := -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
FUZZED := $(filter-out libcommon/kernel/%,$(SOURCES)) $(TOOL_SOURCES)

# rules for arm64's code, which any machine can make
ARM64_FUZZED := $(wildcard libcommon/base/*.c libcommon/dwarf/*.c libcommon/table/*.c libcommon/table/arm64/*.c)
OTHER_FUZZ_TARGETS := $(filter-out arm64-%,$(FUZZ_TARGETS))

# replayed by the tests
define compile_sanitized
	@mkdir -p $(@D)
	$(call show,CC)$(CC) $(SANITIZE) $(COMMON_FLAGS) -c $< -o $@
endef

define link_replay
	@mkdir -p $(@D)
	$(call show,CC)$(CC) $(SANITIZE) $(COMMON_FLAGS) -MF $@.d -o $@ $(filter %.c %.o %.a,$^) $(PURE_LIBS)
endef

$(B)/san/%.o: %.c | $(GENERATED)
	$(compile_sanitized)

$(B)/arm64-san/%.o: %.c
	$(compile_sanitized)

$(B)/san/all.a: $(FUZZED:%.c=$(B)/san/%.o) $(PROTOS:%=$(B)/gen/%.pb-c.o)
	$(archive)

$(OTHER_FUZZ_TARGETS:%=$(B)/tests/fuzz/%): $(B)/tests/fuzz/%: \
	tests/fuzz/%.c tests/fuzz/replay.c tests/fuzz/fuzz.h $(B)/san/all.a
	$(link_replay)

$(B)/tests/fuzz/arm64-code: tests/fuzz/code.c tests/fuzz/replay.c tests/fuzz/fuzz.h \
	$(ARM64_FUZZED:%.c=$(B)/arm64-san/%.o)
	$(link_replay)

# libFuzzer's
define compile_fuzzed
	@mkdir -p $(@D)
	$(call show,CC)$(CLANG) $(SANITIZE) -fsanitize=fuzzer-no-link $(COMMON_FLAGS) -c $< -o $@
endef

define link_fuzzer
	@mkdir -p $(@D)
	$(call show,CC)$(CLANG) $(SANITIZE) -fsanitize=fuzzer $(COMMON_FLAGS) -MF $@.d -o $@ $(filter %.c %.o %.a,$^) \
		$(PURE_LIBS)
endef

$(B)/fuzz/obj/%.o: %.c | $(GENERATED)
	$(compile_fuzzed)

$(B)/arm64-fuzz/%.o: %.c
	$(compile_fuzzed)

$(B)/fuzz/all.a: $(FUZZED:%.c=$(B)/fuzz/obj/%.o) $(PROTOS:%=$(B)/gen/%.pb-c.o)
	$(archive)

$(OTHER_FUZZ_TARGETS:%=$(B)/fuzz/%): $(B)/fuzz/%: tests/fuzz/%.c tests/fuzz/fuzz.h $(B)/fuzz/all.a
	$(link_fuzzer)

$(B)/fuzz/arm64-code: tests/fuzz/code.c tests/fuzz/fuzz.h $(ARM64_FUZZED:%.c=$(B)/arm64-fuzz/%.o)
	$(link_fuzzer)

# new inputs stay under build/; what is worth keeping goes to tests/fuzz/corpus by hand
fuzz:
	$(MAKE) $(FUZZ_TARGETS:%=$(B)/fuzz/%)
	for t in $(FUZZ_TARGETS); do mkdir -p $(B)/fuzz/new/$$t && \
		$(B)/fuzz/$$t -max_total_time=$(FUZZ_SECONDS) -timeout=1 -rss_limit_mb=1024 -max_len=65536 \
		-artifact_prefix=$(B)/fuzz/ -print_final_stats=1 $(B)/fuzz/new/$$t tests/fuzz/corpus/$$t || exit 1; done

.PHONY: fuzz
