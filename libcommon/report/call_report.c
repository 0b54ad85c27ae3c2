// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/call_report.h"

#include "report/histogram.h"
#include "report/json.h"
#include "report/series_report.h"
#include "report/time_of_day.h"

void call_report_text(const struct stack_writer *writer, const struct call_report *call, const char *title)
{
	fprintf(writer->out, "%s %s: %s, blocked %s, waiting to run %s%s%s\n",
		time_of_day(call->ended_ns).text, title, histogram_time(call->latency_ns).text,
		histogram_time(call->blocked_ns).text, histogram_time(call->waiting_ns).text,
		call->result < 0 ? ", " : "", call->result < 0 ? errno_name(-call->result).text : "");
	for (size_t i = 0; i < call->nr_entries; i++)
		series_report_stack(writer, &call->entries[i], &histogram_usecs, call->latency_ns);
}

void call_report_json(const struct stack_writer *writer, const struct call_report *call,
		      struct json_object *key)
{
	struct json_object *object = json_object_new_object(), *list = json_object_new_array();

	json_object_object_add(object, "type", json_object_new_string("call"));
	json_object_object_add(object, "time", json_object_new_string(time_of_day(call->ended_ns).text));
	json_object_object_add(object, "key", key);
	json_object_object_add(object, "tid", json_object_new_int64(call->tid));
	json_object_object_add(object, "result", json_object_new_int64(call->result));
	json_object_object_add(object, "latency_ns", json_object_new_uint64(call->latency_ns));
	json_object_object_add(object, "blocked_ns", json_object_new_uint64(call->blocked_ns));
	json_object_object_add(object, "waiting_ns", json_object_new_uint64(call->waiting_ns));
	for (size_t i = 0; i < call->nr_entries; i++)
		json_object_array_add(list, series_report_json_stack(writer, &call->entries[i], &histogram_usecs));
	json_object_object_add(object, "stacks", list);
	json_print(writer->out, object);
}
