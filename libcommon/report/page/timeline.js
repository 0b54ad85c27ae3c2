// SPDX-License-Identifier: GPL-2.0-or-later
// The timeline of threads: its data (Timeline, Life), and its drawing on a canvas (Lanes). Times are ns from the beginning.
'use strict';

const RUNNING = 0, WAITING = 1, BLOCKED = 2, LOST = 3, STATES = ['running', 'waiting', 'blocked', 'lost'];
const BLOCK = 32;	// intervals summed up together

// A thread's intervals, which tile its life, and its samples.
class Life {
	constructor(about, reader, at, intervals, samples) {
		Object.assign(this, about);
		this.nr = intervals;
		this.start = new Float64Array(intervals + 1);
		this.state = new Uint8Array(intervals);
		this.key = new Uint32Array(intervals);
		this.waker = new Uint32Array(intervals);
		this.more = new Uint32Array(intervals);	// the CPU it ran on then, or how many were lost
		this.sampleTime = new Float64Array(samples);
		this.sampleKey = new Uint32Array(samples);
		let time = about.from, sampled = 0, i = 0, s = 0;
		while (i < intervals || s < samples) {
			const kind = reader.next();
			if (kind === 4) {
				sampled += reader.next();
				this.sampleTime[s] = about.from + sampled;
				this.sampleKey[s++] = reader.next();
				continue;
			}
			this.start[i] = time;
			this.state[i] = kind;
			time += reader.next();
			if (kind !== RUNNING) {
				this.key[i] = reader.next();
				this.waker[i] = reader.next();
				this.more[i] = reader.next();
			}
			i++;
		}
		this.start[intervals] = time;
		this.sums = new Float64Array((Math.floor(intervals / BLOCK) + 1) * 4);
		for (let i = 0; i < intervals; i++) {
			const block = Math.floor(i / BLOCK) * 4;
			if (i % BLOCK === 0 && i)
				for (let state = 0; state < 4; state++)
					this.sums[block + state] = this.sums[block - 4 + state];
			this.sums[block + this.state[i]] += this.start[i + 1] - this.start[i];
		}
	}

	// the interval at this time, within the life; from: one that does not begin later, and may be near
	at(time, from = 0) {
		let low = from, high = this.nr - 1;
		for (let step = 16; from && low + step < high; step *= 4) {
			if (this.start[low + step] > time) {
				high = low + step;
				break;
			}
			low += step;
		}
		while (low < high) {
			const middle = (low + high + 1) >> 1;
			if (this.start[middle] <= time)
				low = middle;
			else
				high = middle - 1;
		}
		return low;
	}

	// ns in each state before this time, into `out`: the interval there. from: as for at()
	before(time, out, from = 0) {
		const i = this.at(time, from), block = Math.floor(i / BLOCK);
		for (let state = 0; state < 4; state++)
			out[state] = block ? this.sums[(block - 1) * 4 + state] : 0;
		for (let j = block * BLOCK; j < i; j++)
			out[this.state[j]] += this.start[j + 1] - this.start[j];
		out[this.state[i]] += Math.max(0, Math.min(time, this.start[i + 1]) - this.start[i]);
		return i;
	}

	firstSample(time) {
		let low = 0, high = this.sampleTime.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (this.sampleTime[middle] < time)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}

	// Calls see(from, to, state, key) for what is in [from, to): each moment of running is its nearest sample's.
	slices(from, to, see) {
		if (!this.nr || to <= this.start[0] || from >= this.start[this.nr])
			return;
		for (let i = this.at(from); i < this.nr && this.start[i] < to; i++) {
			const begin = Math.max(from, this.start[i]), end = Math.min(to, this.start[i + 1]);
			if (this.state[i] !== RUNNING) {
				see(begin, end, this.state[i], this.key[i]);
				continue;
			}
			const last = this.start[i + 1];
			let s = this.firstSample(this.start[i]), at = this.start[i];
			if (s >= this.sampleTime.length || this.sampleTime[s] > last)
				see(begin, end, RUNNING, 0);
			for (; s < this.sampleTime.length && this.sampleTime[s] <= last; s++) {
				const until = s + 1 < this.sampleTime.length && this.sampleTime[s + 1] <= last ?
					(this.sampleTime[s] + this.sampleTime[s + 1]) / 2 : last;
				if (Math.min(until, end) > Math.max(at, begin))
					see(Math.max(at, begin), Math.min(until, end), RUNNING, this.sampleKey[s]);
				at = until;
			}
		}
	}

	// .active: ns that the thread ran, waited for a CPU or was blocked uninterruptibly; .slept: it did nothing but sleep, or was
	// idle. deep, idle: by the keys' numbers, 1: such waits
	sumUp(deep, idle) {
		let active = 0, wasIdle = false;
		for (let i = 0; i < this.nr; i++)
			if (this.state[i] !== BLOCKED || deep[this.key[i]])
				active += this.start[i + 1] - this.start[i];
			else if (idle[this.key[i]])
				wasIdle = true;
		this.active = active;
		this.slept = !active || wasIdle;
	}

	// Notes the intervals with one of these keys, in `marked`. keys: by their numbers, 1: that is one; null: none is noted
	mark(keys) {
		const marked = [];
		for (let i = 0, s = 0; keys && i < this.nr; i++) {
			let found = keys[this.key[i]];
			for (; s < this.sampleTime.length && this.sampleTime[s] <= this.start[i + 1]; s++)
				if (this.state[i] === RUNNING)
					found |= keys[this.sampleKey[s]];
			if (found)
				marked.push(i);
		}
		this.marked = Uint32Array.from(marked);
	}

	// the key of the sample nearest to this time within the interval; 0: none
	sampleAt(time) {
		let found = 0;
		this.slices(time, time + 1, (from, to, state, key) => { found = key; });
		return found;
	}
}

class Timeline {
	static async of(about, packed) {
		const binary = atob(packed), bytes = new Uint8Array(binary.length);
		for (let i = 0; i < bytes.length; i++)
			bytes[i] = binary.charCodeAt(i);
		const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
		const data = new Uint8Array(await new Response(stream).arrayBuffer());
		let at = 0;
		const reader = {
			next() {
				let byte = data[at++], number = byte & 127;
				for (let scale = 128; byte & 128; scale *= 128) {
					byte = data[at++];
					number += (byte & 127) * scale;
				}
				return number;
			},
		};
		const timeline = new Timeline();
		Object.assign(timeline, about);
		timeline.idle = new Set(about.idle);
		timeline.lives = about.lives.map(([pid, tid, comm, from, intervals, samples, command]) =>
			new Life({pid, tid, comm, from, command}, reader, at, intervals, samples));
		const deep = Uint8Array.from(about.why, why => why === 'D'), idle = Uint8Array.from(about.why, (_, key) => timeline.idle.has(key));
		for (const life of timeline.lives)
			life.sumUp(deep, idle);
		return timeline;
	}

	// A wait of an idle thread, or one in which the kernel's own threads are idle
	isIdle(state, key) {
		return state !== RUNNING && (this.idle.has(key) || (state === BLOCKED && this.why[key] === 'I'));
	}

	// the life of this thread at this time; -1: none
	lifeOf(tid, time) {
		let found = -1;
		this.lives.forEach((life, i) => { if (life.tid === tid && (found < 0 || life.from <= time)) found = i; });
		return found;
	}
}

// Draws [from, to) of lives, a lane each, on a canvas: those that `box`, which scrolls, has room for. A browser's canvas
// cannot be as high as thousands of lanes.
class Lanes {
	constructor(box, timeline) {
		this.box = box;
		this.canvas = box.querySelector('canvas');
		this.timeline = timeline;
		this.from = 0;
		this.to = timeline.duration;
		this.row = 20;
		this.head = 18;
		this.left = 170;
		this.selected = null;	// {from, to}
		this.picked = null;	// {lane, time}
		this.place([...timeline.lives.keys()]);
		this.search(null);
	}

	// What is shown, from above: numbers of lives, and whatever else for rows without intervals
	place(rows) {
		this.rows = rows;
		this.rowOf = new Map(rows.map((row, i) => [row, i]));
	}

	// keys: those that a search has found; null: nothing is searched for
	search(keys) {
		this.matches = keys;
		const flags = keys && new Uint8Array(this.timeline.stacks.length);
		for (const key of keys ?? [])
			flags[key] = 1;
		for (const life of this.timeline.lives)
			life.mark(flags);
	}

	time(x) {
		return this.from + (x - this.left) / (this.canvas.clientWidth - this.left) * (this.to - this.from);
	}

	x(time) {
		return this.left + (time - this.from) / (this.to - this.from) * (this.canvas.clientWidth - this.left);
	}

	// the number of the life there; undefined: none
	lane(y) {
		return y < this.head ? undefined : this.rows[Math.floor((y - this.head + this.box.scrollTop) / this.row)];
	}

	// the upper edge of its lane on the canvas
	y(lane) {
		return this.head + this.rowOf.get(lane) * this.row - this.box.scrollTop;
	}

	show(from, to) {
		const span = Math.min(Math.max(to - from, 100), this.timeline.duration);
		from = Math.min(Math.max(0, from), this.timeline.duration - span);
		this.from = from;
		this.to = from + span;
		this.draw();
	}

	zoom(factor, at = (this.from + this.to) / 2) {
		this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
	}

	colour(name) {
		return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
	}

	draw() {
		const canvas = this.canvas, scale = window.devicePixelRatio || 1;
		canvas.parentNode.style.height = this.head + this.row * this.rows.length + 4 + 'px';
		const width = canvas.clientWidth, height = this.box.clientHeight, first = Math.floor(this.box.scrollTop / this.row);
		canvas.style.height = height + 'px';
		canvas.width = width * scale;
		canvas.height = height * scale;
		const g = canvas.getContext('2d');
		g.scale(scale, scale);
		this.colours = Object.fromEntries(['ground', 'ink', 'soft', 'line', 'running', 'waiting', 'blocked', 'sleeping', 'lost', 'match']
			.map(name => [name, this.colour(name)]));
		this.words = [this.colours.running, this.colours.waiting, this.colours.sleeping, this.colours.lost].map(this.word);
		g.fillStyle = this.colours.ground;
		g.fillRect(0, 0, width, height);
		g.font = '11px system-ui, sans-serif';
		this.drawScale(g, width, height, false);
		for (const lane of this.rows.slice(first, first + Math.ceil(height / this.row) + 1)) {
			const life = this.timeline.lives[lane];
			if (!life)
				continue;
			g.globalAlpha = this.chosen && !this.chosen.has(lane) ? 0.3 : 1;
			this.drawLane(g, life, this.y(lane), width);
		}
		g.globalAlpha = 1;
		g.fillStyle = this.colours.ground;
		g.fillRect(0, 0, width, this.head);
		this.drawScale(g, width, this.head, true);
		this.drawSelection(g, height);
		this.drawArrow(g);
	}

	drawScale(g, width, height, words) {
		const span = this.to - this.from;
		let step = 10 ** Math.floor(Math.log10(span / 4));
		if (span / step > 12)
			step *= span / step > 24 ? 5 : 2;
		for (let t = Math.ceil(this.from / step) * step; t < this.to; t += step) {
			const x = this.x(t);
			g.fillStyle = this.colours.line;
			g.fillRect(x, 0, 1, height);
			g.fillStyle = this.colours.soft;
			if (words)
				g.fillText(flameValue(t, 'ns'), x + 3, 12);
		}
	}

	fillOf(life, i) {
		const state = life.state[i];
		if (this.timeline.isIdle(state, life.key[i]))
			return this.colours.line;
		if (state === BLOCKED)
			return this.timeline.why[life.key[i]] === 'S' ? this.colours.sleeping : this.colours.blocked;
		return this.colours[STATES[state]];
	}

	drawLane(g, life, y, width) {
		const end = life.start[life.nr];
		if (!life.nr || end < this.from || life.from > this.to)
			return;
		const first = life.at(this.from), last = life.at(Math.min(this.to, end));
		const crowded = last - first >= 2 * width;
		if (crowded)
			this.drawShares(g, life, y, width);
		else
			for (let i = first; i <= last; i++) {
				const x = Math.max(this.left, this.x(life.start[i])), to = Math.min(width, this.x(life.start[i + 1]));
				g.fillStyle = this.fillOf(life, i);
				const inset = life.state[i] === RUNNING ? 1 : life.state[i] === WAITING ? 4 : 6;
				if (to > x)
					g.fillRect(x, y + inset, Math.max(to - x, 0.4), this.row - 2 * inset);
			}
		this.drawMatches(g, life, y, width, crowded);
	}

	// On what else is drawn; in a crowded lane as a stripe along it. In whole pixels, each once.
	drawMatches(g, life, y, width, crowded) {
		let drawn = this.left;
		g.fillStyle = this.colours.match;
		for (const i of life.marked) {
			const x = Math.max(drawn, Math.floor(this.x(life.start[i]))), to = Math.ceil(Math.min(width, this.x(life.start[i + 1])));
			if (x >= width)
				break;
			if (to <= x)
				continue;
			drawn = to;
			g.fillRect(x, y + 5, drawn - x, crowded ? 6 : this.row - 10);
		}
	}

	// More intervals than pixels: each column is filled by the shares of the states, as an image, for rectangles are slow.
	drawShares(g, life, y, width) {
		// putImageData() knows no alpha: that of who is not chosen is in the pixels
		const alpha = Math.round(255 * g.globalAlpha) << 24 >>> 0, words = this.words.map(word => (word & 0xffffff | alpha) >>> 0);
		const scale = g.getTransform().a, end = life.start[life.nr], rows = Math.round((this.row - 4) * scale);
		const from = Math.max(this.left, Math.floor(this.x(life.from))), to = Math.min(width, Math.ceil(this.x(end)));
		const columns = Math.round((to - from) * scale);
		if (columns <= 0)
			return;
		const image = g.createImageData(columns, rows), pixels = new Uint32Array(image.data.buffer);
		let before = new Float64Array(4), after = new Float64Array(4);
		let i = life.before(Math.max(this.time(from), life.from), before);
		for (let column = 0; column < columns; column++) {
			i = life.before(Math.min(this.time(from + (column + 1) / scale), end), after, i);
			let all = 0, bottom = rows, sum = 0;
			for (let state = 0; state < 4; state++)
				all += after[state] - before[state];
			for (let state = 0; state < 4 && all > 0; state++) {
				sum += after[state] - before[state];
				const top = Math.round(rows * (1 - sum / all));
				for (; bottom > top; bottom--)
					pixels[(bottom - 1) * columns + column] = words[state];
			}
			[before, after] = [after, before];
		}
		g.putImageData(image, Math.round(from * scale), Math.round((y + 2) * scale));
	}

	// a colour of the style sheet, "#rrggbb", as a pixel of an image
	word(colour) {
		const [red, green, blue] = [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16));
		return (255 << 24 | blue << 16 | green << 8 | red) >>> 0;
	}

	drawSelection(g, height) {
		if (!this.selected)
			return;
		const from = Math.max(this.left, this.x(this.selected.from)), to = this.x(this.selected.to);
		g.fillStyle = this.colours.ink;
		g.globalAlpha = 0.12;
		g.fillRect(from, 0, to - from, height);
		g.globalAlpha = 1;
	}

	// from the waker's lane to the picked wait's end
	drawArrow(g) {
		this.arrow = null;
		if (!this.picked || !this.rowOf.has(this.picked.lane))
			return;
		const life = this.timeline.lives[this.picked.lane], i = life.at(this.picked.time), y = this.y(this.picked.lane);
		const x = Math.max(this.left, this.x(life.start[i])), to = this.x(life.start[i + 1]);
		g.strokeStyle = this.colours.ink;
		g.lineWidth = 1.5;
		g.strokeRect(x, y + 1, Math.max(to - x, 1), this.row - 2);
		const waker = life.waker[i] && life.state[i] === BLOCKED ? this.timeline.tids[life.waker[i]] : 0;
		const lane = waker ? this.timeline.lifeOf(waker, life.start[i + 1]) : -1;
		if (!this.rowOf.has(lane))
			return;
		this.arrow = {from: lane, to: this.picked.lane};
		const y1 = this.y(lane) + this.row / 2, y2 = y + this.row / 2, way = y2 > y1 ? -1 : 1;
		g.beginPath();
		g.moveTo(to, y1);
		g.lineTo(to, y2);
		g.moveTo(to - 4, y2 + 7 * way);
		g.lineTo(to, y2);
		g.lineTo(to + 4, y2 + 7 * way);
		g.stroke();
	}
}
