// SPDX-License-Identifier: GPL-2.0-or-later
// The files of --serve's page: what a range shows, in the formats of -o. What is printed is an array of parts of a file.
'use strict';

// JSON with no characters but those of ASCII, as names may have others that change how a line is shown.
function lineOf(object) {
	return JSON.stringify(object).replace(/[\u007f-\uffff]/g, c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0')) + '\n';
}

const liveFormats = {
	folded: ({tree}) => {
		const lines = new Map();
		tree.self.forEach((self, node) => {
			const text = tree.path(node).map(step => tree.labels[tree.label[step]].text).join(';');
			if (self)
				lines.set(text, (lines.get(text) ?? 0) + self);
		});
		return [...lines].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
			.map(([text, value]) => `${text} ${inText(tree.unit, value)}\n`);
	},
	// as the tool's own -o x.jsonl of this time
	jsonl: ({live, slices}) => {
		const {tables} = live, frames = node => [...tables.way(node)].map(frame => tables.frames[frame].json);
		const lines = [lineOf(live.start.start)], named = new Set();
		const name = pid => {
			if (live.processes.has(pid) && !named.has(pid))
				lines.push(lineOf(live.processes.get(pid)));
			named.add(pid);
		};
		for (const [number, [count, value, blocked, waiting, idle]] of [...live.sums(slices, true)].sort((a, b) => b[1][1] - a[1][1])) {
			const {user, kernel, head, waker} = tables.stacks[number];
			const of = {count, sum: value, value_ns: value * live.start.value_ns, blocked_ns: blocked, waiting_ns: waiting};
			const stack = {...head};
			for (const field of VALUE_FIELDS)
				if (field in head)
					stack[field] = of[field];
			if (idle)
				stack.idle = true;
			Object.assign(stack, {user: frames(user), kernel: frames(kernel)});
			if (waker)
				stack.waker = {...waker.head, user: frames(waker.user), kernel: frames(waker.kernel)};
			name(head.pid);
			if (waker)
				name(waker.head.pid);
			lines.push(lineOf(stack));
		}
		return [...lines, lineOf(summed(slices.map(slice => slice.summary)))];
	},
	// of speedscope
	json: ({tree, about: {title}}) => {
		const samples = [], weights = [];
		tree.self.forEach((self, node) => {
			if (self) {
				samples.push(tree.path(node).map(step => tree.label[step]));
				weights.push(self);
			}
		});
		return [lineOf({
			$schema: 'https://www.speedscope.app/file-format-schema.json', exporter: 'ehperf', name: title,
			profiles: [{type: 'sampled', name: title, unit: {ns: 'nanoseconds', bytes: 'bytes'}[tree.unit] ?? 'none',
				startValue: 0, endValue: tree.total[0], samples, weights}],
			shared: {frames: tree.labels.map(label => ({name: label.text}))},
		})];
	},
	html: async ({tree, about}) => {
		const [flame, controls, page, ...scripts] = await Promise.all(
			['flame.css', 'controls.css', 'flame-html.css', 'flame.js', 'flame-html.js'].map(served));
		return ['<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" ' +
			'content="default-src \'none\'; style-src \'unsafe-inline\'; script-src \'unsafe-inline\'">\n' +
			`<meta name="viewport" content="width=device-width">\n<title>${inXml(about.title)}</title>\n<style>\n`, flame, controls, page,
			'</style>\n</head>\n<body>\n<script id="data" type="application/json">', pageData(tree, about), '</script>\n<script>\n', ...scripts,
			'(data => flamePage(data, FlameTree.of(data)))(JSON.parse(document.getElementById(\'data\').textContent));\n</script>\n</body>\n</html>\n'];
	},
	svg: async ({tree, about}) => {
		const [flameStyle, controls, ...scripts] = await Promise.all(['flame.css', 'controls.css', 'flame.js', 'flame-svg.js'].map(served));
		const merged = regrouped(tree, label => ({...label, pid: 0, tid: 0}), () => true);
		const frames = element(SVG, 'g', {id: 'frames'}), lines = [about.title, about.when, ...about.notes];
		const flame = new Flame(frames, {});
		flame.tree = merged;
		flame.show(merged);
		const top = 24 + 18 * lines.length + 60, width = flame.width + 20, height = top + Flame.ROW * flame.allRows + 20;
		frames.setAttribute('transform', `translate(10 ${top})`);
		return ['<?xml version="1.0" encoding="UTF-8"?>\n' +
			`<svg xmlns="${SVG}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">\n<style><![CDATA[\n`, flameStyle, controls, ']]></style>\n',
			...lines.map((line, i) => `<text class="words${i ? '' : ' title'}" x="10" y="${24 + 18 * i}">${inXml(line)}</text>\n`),
			`<text id="hint" class="words" x="10" y="${24 + 18 * lines.length}">In a browser, click to zoom, and search.</text>\n`,
			new XMLSerializer().serializeToString(frames), '\n<script id="data" type="application/json">', pageData(merged, about), '</script>\n<script><![CDATA[\n',
			...scripts, ']]></script>\n</svg>\n'];
	},
	// perf script's text, as report/stack_perf.c writes it
	perf: ({live, slices, idle}) => {
		const {tables, start} = live, weighed = start.unit === 'ns' || start.start.summed, parts = [];
		const escaped = (text, unwanted) => cleaned(text).replace(unwanted, c => '\\x' + c.charCodeAt(0).toString(16).padStart(2, '0'));
		const frame = ({text, json}, kernel) => {
			const place = json.vaddr ?? json.address ?? '0x' + (json.file_offset ?? 0).toString(16);
			const module = json.module ?? (kernel ? '[kernel.kallsyms]' : json.region ?? '[unknown]');
			const at = json.symbol ? `+0x${(json.offset ?? 0).toString(16)}` : '', inModule = kernel && json.module;
			return `\t${place.slice(2).padStart(16)} ${text}${at} (${inModule ? '[' : ''}${escaped(module, /[ ()]/g)}${inModule ? ']' : ''})\n`;
		};
		let now = 1000 * Math.round(slices[0]?.from ?? 0);	// us
		const sums = [...live.sums(slices, idle)].sort((a, b) => b[1][1] - a[1][1]);
		// more than a browser can take: the same share of each stack's samples
		const depth = number => [tables.stacks[number].user, tables.stacks[number].kernel].reduce((sum, node) => sum + [...tables.way(node)].length, 1);
		const all = weighed ? 0 : sums.reduce((sum, [number, [count]]) => sum + count * depth(number), 0), share = Math.min(1, MAX_PERF_LINES / (all || 1));
		let due = 0;
		for (const [number, [count, value]] of sums) {
			const {user, kernel, head} = tables.stacks[number], name = escaped(head.comm || '[unknown]', /^[ #]/);
			const frames = [[kernel, true], [user, false]].flatMap(([node, inKernel]) => [...tables.way(node)].map(number => tables.frames[number])
				.filter(({json}) => !json.inlined).map(of => frame(of, inKernel))).join('');
			const what = weighed ? `${inText(start.unit, value)} ${start.start.summed ?? 'off-cpu'}` : start.value_ns ? 'cpu-clock' : start.start.counted;
			due += weighed ? 1 : share * count;
			for (; due > 0.999999; due--, now += Math.max(1, Math.round(start.value_ns / 1000)))
				parts.push(`${name}${name.length === 1 ? '  ' : ' '}${head.pid}/${head.tid} ${Math.floor(now / 1e6)}.${String(now % 1e6).padStart(6, '0')}: ${what}:\n`,
					frames, '\n');
		}
		return parts;
	},
	'pb.gz': async ({live, slices, idle, about}) => {
		const packed = new Blob([pprofOf(live, slices, idle, about)]).stream().pipeThrough(new CompressionStream('gzip'));
		return [await new Response(packed).blob()];
	},
};

// of a download as perf's text
const MAX_PERF_LINES = 2e6;

// Those that need no more than the tree
const sumFormats = ['folded', 'json', 'html', 'svg'];

// A value as in text: times in microseconds
function inText(unit, value) {
	return unit === 'ns' ? Math.floor((value + 500) / 1000) : value;
}

// The page's own files, which are parts of others: read now, because later the tool may have ended.
const pageFiles = Object.fromEntries(['flame.css', 'controls.css', 'flame-html.css', 'flame.js', 'flame-html.js', 'flame-svg.js']
	.map(name => [name, fetch(name).then(response => response.text())]));

function served(name) {
	return pageFiles[name];
}

function inXml(text) {
	return text.replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);
}

// as report/flame_data.c writes it
function pageData(tree, about) {
	const nodes = [];
	for (let i = 1; i < tree.parent.length; i++) {
		nodes.push(tree.parent[i], tree.label[i], tree.self[i]);
		if (tree.compared)
			nodes.push(tree.before[i]);
	}
	return JSON.stringify({
		compared: tree.compared, title: about.title, when: about.when, notes: about.notes, unit: tree.unit,
		labels: tree.labels.map(label => label.text), kinds: tree.labels.map(label => label.kind).join(''),
		threads: tree.labels.flatMap((label, i) => label.tid ? [[i, label.pid, label.tid]] : []), commands: about.commands, nodes,
	}).replace(/[<>&]/g, c => '\\u00' + c.charCodeAt(0).toString(16));
}

// ---- pprof: by the numbers of report/pprof.proto ----

function varint(value) {
	const bytes = [];
	let left = BigInt(value);
	for (; left > 127n; left >>= 7n)
		bytes.push(Number(left & 127n) | 128);
	bytes.push(Number(left));
	return bytes;
}

// A message: [number, value]... A value is a number, a BigInt, a message, a string, or an array of numbers.
function message(...fields) {
	const bytes = [];
	for (const [number, value] of fields) {
		if (typeof value === 'number' || typeof value === 'bigint') {
			bytes.push(...varint(8 * number), ...varint(value));
			continue;
		}
		const inner = typeof value === 'string' ? new TextEncoder().encode(value) : Array.isArray(value) ? value.flatMap(varint) : value;
		bytes.push(...varint(8 * number + 2), ...varint(inner.length));
		for (const byte of inner)
			bytes.push(byte);
	}
	return Uint8Array.from(bytes);
}

function pprofOf(live, slices, idle, about) {
	const {tables, start} = live, parts = [], strings = new Map(), functions = new Map(), locations = new Map(), mappings = new Map();
	// a key's number, and whether it is new
	const numbered = (map, key, first = 1) => {
		const isNew = !map.has(key);
		if (isNew)
			map.set(key, map.size + first);
		return [map.get(key), isNew];
	};
	const string = text => numbered(strings, text, 0)[0];
	const add = (number, ...fields) => parts.push(message([number, message(...fields)]));
	// A name without its source, for which pprof has a place.
	const nameOf = ({text, json}) => {
		const name = json.inlined ? text.replace(/_\[i\]$/, '') : text, file = json.source?.split('/').at(-1);
		return file && name.endsWith(')') && name.lastIndexOf(' (') > 0 && name.slice(name.lastIndexOf(' (')).includes(file) ?
			name.slice(0, name.lastIndexOf(' (')) : name;
	};
	const functionOf = frame => {
		const name = nameOf(frame), {json} = frame, [number, isNew] = numbered(functions, `${json.source ?? ''}\n${name}`);
		if (isNew)
			add(5, [1, number], [2, string(name)], [3, string(json.raw_symbol ?? name)], [4, string(cleaned(json.source ?? ''))]);
		return number;
	};
	// one for each file, and one for the kernel
	const mappingOf = (json, kernel) => {
		const key = kernel ? '' : json.module;
		if (!mappings.has(key))
			mappings.set(key, {number: mappings.size + 1, kernel, limit: 0, build_id: json.build_id ?? '', module: json.module});
		const mapping = mappings.get(key);
		mapping.limit = Math.max(mapping.limit, json.file_offset ?? 0);
		return mapping.number;
	};
	const locationOf = (frames, kernel, pid) => {
		const {json} = frames.at(-1), before = json.call ? 1 : 0;
		let address = 0n, mapping = 0;
		if (kernel) {
			mapping = mappingOf(json, true);
			address = BigInt(json.address ?? 0);
		} else if ('file_offset' in json) {
			mapping = mappingOf(json, false);
			address = (BigInt(mapping) << 40n) + BigInt(json.file_offset - before);
		} else if (json.address) {
			address = BigInt(json.address) - BigInt(before);
		}
		const lines = frames.map(frame => [functionOf(frame), frame.json.line ?? 0]);
		const [number, isNew] = numbered(locations, `${mapping} ${address} ${mapping ? 0 : pid} ${lines}`);
		if (isNew)
			add(4, [1, number], [2, mapping], [3, address], ...lines.map(([of, line]) => [4, message([1, of], [2, line])]));
		return number;
	};
	const side = (stack, pid) => [[stack.kernel, true], [stack.user, false]].flatMap(([node, kernel]) => {
		const found = [];
		let waiting = [];	// functions inlined in the frame that follows
		for (const number of tables.way(node)) {
			waiting.push(tables.frames[number]);
			if (!waiting.at(-1).json.inlined) {
				found.push(locationOf(waiting, kernel, pid));
				waiting = [];
			}
		}
		return found;
	});
	string('');
	const {counted, summed} = start.start, time = start.unit === 'ns', two = start.value_ns || summed;
	const count = message([1, string(counted)], [2, string('count')]);
	const value = summed ? message([1, string('sum')], [2, string(summed)]) : message([1, string(time ? 'off_cpu' : 'cpu')], [2, string('nanoseconds')]);
	parts.push(message([1, count]), ...two ? [message([1, value])] : [], message(
		[9, BigInt(Math.round(slices[0]?.from ?? 0)) * 1000000n], [10, BigInt(Math.round(slices.reduce((sum, slice) => sum + slice.until - slice.from, 0))) * 1000000n],
		[11, start.value_ns ? value : count], [12, start.value_ns || 1], [13, [string(about.title)]]));
	for (const [number, [times, sum]] of live.sums(slices, idle)) {
		const stack = tables.stacks[number], {head, waker, root} = stack, process = live.processes.get(head.pid);
		const label = (key, text) => [3, message([1, string(key)], [2, string(cleaned(text))])];
		const named = (key, number) => [3, message([1, string(key)], [3, number])];
		add(2, [1, [...waker ? side(waker, waker.head.pid).reverse() : [], ...side(stack, head.pid)]],
			[2, two ? [times, BigInt(sum) * BigInt(start.value_ns || 1)] : [times]],
			named('pid', head.pid), named('tid', head.tid), label('comm', head.comm),
			...time && head.state ? [label('state', head.state)] : [],
			...process?.cmdline ? [label('cmdline', process.cmdline)] : [], ...process?.cgroup ? [label('cgroup', process.cgroup)] : [],
			...root ? [label('event', root)] : [], ...waker ? [label('waker', waker.head.interrupt ? '[interrupt]' : waker.head.comm)] : []);
	}
	for (const {number, kernel, limit, module, build_id} of mappings.values())
		add(3, [1, number], [2, kernel ? 0xffff800000000000n : BigInt(number) << 40n],
			[3, kernel ? 0xffffffffffffffffn : (BigInt(number) << 40n) + BigInt(limit) + 4096n],
			[5, string(kernel ? '[kernel.kallsyms]' : cleaned(module))], [6, string(build_id)], [7, 1]);
	for (const text of strings.keys())
		parts.push(message([6, text]));
	return new Blob(parts);
}
