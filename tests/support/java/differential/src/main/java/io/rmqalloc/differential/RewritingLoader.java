// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Map;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** Loads RocketMQ's classes and ours; in RocketMQ's, calls that ask for the time or wait go to {@link VirtualTime}. */
final class RewritingLoader extends ClassLoader {
    private static final String ROCKETMQ = "org.apache.rocketmq.";
    private static final String OURS = "io.rmqalloc.";
    private static final String VIRTUAL = "io/rmqalloc/differential/VirtualTime";
    private static final String POOL = "java/util/concurrent/ScheduledExecutorService";

    /**
     * What is called, and what is called instead: a static method of VirtualTime, which takes the receiver, if there is
     * one, as its first argument.
     */
    private static final Map<String, String> INSTEAD = Map.ofEntries(
        Map.entry("java/lang/System.currentTimeMillis()J", "currentTimeMillis()J"),
        Map.entry("java/lang/System.nanoTime()J", "nanoTime()J"),
        Map.entry("java/lang/Thread.sleep(J)V", "sleep(J)V"),
        tryLock("Lock"),
        tryLock("ReentrantLock"),
        pool("java/util/concurrent/Executors.newSingleThreadScheduledExecutor()"),
        pool("java/util/concurrent/Executors.newSingleThreadScheduledExecutor(Ljava/util/concurrent/ThreadFactory;)"),
        pool("java/util/concurrent/Executors.newScheduledThreadPool(I)"),
        pool("java/util/concurrent/Executors.newScheduledThreadPool(ILjava/util/concurrent/ThreadFactory;)"),
        pool("org/apache/rocketmq/common/utils/ThreadUtils.newScheduledThreadPool(I)"),
        pool("org/apache/rocketmq/common/utils/ThreadUtils.newScheduledThreadPool(ILjava/util/concurrent/ThreadFactory;)"));

    RewritingLoader(ClassLoader parent) {
        super(parent);
    }

    private static Map.Entry<String, String> tryLock(String kind) {
        String lock = "java/util/concurrent/locks/" + kind;
        return Map.entry(lock + ".tryLock(JLjava/util/concurrent/TimeUnit;)Z",
            "tryLock(Ljava/util/concurrent/locks/Lock;JLjava/util/concurrent/TimeUnit;)Z");
    }

    private static Map.Entry<String, String> pool(String called) {
        String arguments = called.substring(called.indexOf('('));
        return Map.entry(called + "L" + POOL + ";", "newScheduledThreadPool" + arguments + "L" + POOL + ";");
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.startsWith(ROCKETMQ) && !name.startsWith(OURS)) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> known = findLoadedClass(name);
            return known != null ? known : findClass(name);
        }
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        try (InputStream file = getParent().getResourceAsStream(name.replace('.', '/') + ".class")) {
            if (file == null) {
                throw new ClassNotFoundException(name);
            }
            byte[] code = file.readAllBytes();
            code = name.startsWith(ROCKETMQ) ? rewritten(code) : code;
            return defineClass(name, code, 0, code.length);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static byte[] rewritten(byte[] code) {
        ClassReader reader = new ClassReader(code);
        ClassWriter writer = new ClassWriter(reader, 0); // stacks and locals stay as they are
        reader.accept(new ClassVisitor(Opcodes.ASM9, writer) {
            @Override
            public MethodVisitor visitMethod(int access, String name, String type, String signature, String[] errors) {
                MethodVisitor next = super.visitMethod(access, name, type, signature, errors);
                MethodVisitor client = ClientRewrites.over(reader.getClassName(), reader.getSuperName(), name, type, next);
                return client == null ? null : new Calls(client);
            }
        }, 0);
        return writer.toByteArray();
    }

    private static final class Calls extends MethodVisitor {
        Calls(MethodVisitor next) {
            super(Opcodes.ASM9, next);
        }

        @Override
        public void visitMethodInsn(int opcode, String owner, String name, String type, boolean isInterface) {
            String instead = opcode == Opcodes.INVOKESPECIAL ? null : INSTEAD.get(owner + "." + name + type);
            if (instead == null) {
                super.visitMethodInsn(opcode, owner, name, type, isInterface);
            } else {
                int start = instead.indexOf('(');
                super.visitMethodInsn(Opcodes.INVOKESTATIC, VIRTUAL, instead.substring(0, start), instead.substring(start), false);
            }
        }
    }
}
